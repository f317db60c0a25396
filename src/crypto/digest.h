#pragma once

#include <string>
#include <string_view>

namespace belljar::crypto {

// The 32 bytes of SHA-256.
[[nodiscard]] std::string sha256(std::string_view data);
// The same in lower-case hexadecimal.
[[nodiscard]] std::string sha256_hex(std::string_view data);
// The 32 bytes of HMAC-SHA256.
[[nodiscard]] std::string hmac_sha256(std::string_view key, std::string_view data);

// SHA-256 of what comes in pieces.
class Sha256 {
   public:
    Sha256();
    Sha256(Sha256&& other) noexcept;
    Sha256& operator=(Sha256&& other) noexcept;
    Sha256(const Sha256&) = delete;
    Sha256& operator=(const Sha256&) = delete;
    ~Sha256();

    void add(std::string_view data);
    // In hexadecimal. Nothing can be added afterwards.
    [[nodiscard]] std::string finish();

   private:
    void* context_ = nullptr;  // of OpenSSL, whose headers stay out of ours
};

}  // namespace belljar::crypto
