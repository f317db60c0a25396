#include "crypto/seal.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <memory>

#include "base/assert.h"

namespace belljar::crypto {
namespace {

constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kMostBytes = 64 * 1024;

using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&::EVP_CIPHER_CTX_free)>;

unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

Context make_context() {
    Context context(::EVP_CIPHER_CTX_new(), &::EVP_CIPHER_CTX_free);
    BJ_ASSERT(context != nullptr);
    return context;
}

}  // namespace

std::string seal(std::string_view key, std::string_view text) {
    BJ_ASSERT(key.size() == kKeyBytes && text.size() <= kMostBytes);
    std::string nonce(kNonceBytes, '\0');
    BJ_ASSERT(::RAND_bytes(bytes_of(nonce), kNonceBytes) == 1);
    const Context context = make_context();
    std::string hidden(text.size(), '\0');
    std::string tag(kTagBytes, '\0');
    int written = 0;
    int more = 0;
    const bool done =
        ::EVP_EncryptInit_ex(context.get(), ::EVP_aes_256_gcm(), nullptr, bytes_of(key),
                             bytes_of(nonce)) == 1 &&
        ::EVP_EncryptUpdate(context.get(), bytes_of(hidden), &written, bytes_of(text),
                            static_cast<int>(text.size())) == 1 &&
        ::EVP_EncryptFinal_ex(context.get(), bytes_of(hidden) + written, &more) == 1 &&
        ::EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, tag.data()) == 1;
    BJ_ASSERT(done && static_cast<std::size_t>(written) == text.size());
    return nonce + hidden + tag;
}

std::optional<std::string> unseal(std::string_view key, std::string_view sealed) {
    BJ_ASSERT(key.size() == kKeyBytes);
    if (sealed.size() < kNonceBytes + kTagBytes || sealed.size() > kMostBytes) {
        return std::nullopt;
    }
    const std::string_view nonce = sealed.substr(0, kNonceBytes);
    const std::string_view hidden =
        sealed.substr(kNonceBytes, sealed.size() - kNonceBytes - kTagBytes);
    std::string tag(sealed.substr(sealed.size() - kTagBytes));
    const Context context = make_context();
    std::string text(hidden.size(), '\0');
    int written = 0;
    int more = 0;
    const bool whole =
        ::EVP_DecryptInit_ex(context.get(), ::EVP_aes_256_gcm(), nullptr, bytes_of(key),
                             bytes_of(nonce)) == 1 &&
        ::EVP_DecryptUpdate(context.get(), bytes_of(text), &written, bytes_of(hidden),
                            static_cast<int>(hidden.size())) == 1 &&
        ::EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1 &&
        ::EVP_DecryptFinal_ex(context.get(), bytes_of(text) + written, &more) == 1;
    return whole ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace belljar::crypto
