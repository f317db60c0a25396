#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace belljar::crypto {

// One half of an Ed25519 pair, or both. Immutable; used by any thread.
class SigningKey {
   public:
    static SigningKey generate();
    // PEM as private_pem() and public_pem() write it, byte by byte: whatever else would be read as
    // the same key is refused.
    static Result<SigningKey> from_private_pem(std::string_view pem);
    static Result<SigningKey> from_public_pem(std::string_view pem);

    [[nodiscard]] std::string private_pem() const;
    [[nodiscard]] std::string public_pem() const;
    // The 32 bytes of the public half.
    [[nodiscard]] std::string public_bytes() const;
    // 64 bytes. Only with the private half.
    [[nodiscard]] std::string sign(std::string_view text) const;
    [[nodiscard]] bool verify(std::string_view text, std::string_view signature) const;
    // 32 bytes that only the holder of the private half can know, another for each purpose.
    [[nodiscard]] std::string derive(std::string_view purpose) const;

   private:
    explicit SigningKey(void* key);

    std::shared_ptr<void> key_;  // of OpenSSL, whose headers stay out of ours
};

}  // namespace belljar::crypto
