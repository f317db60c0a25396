#include "crypto/digest.h"

#include <openssl/evp.h>

#include <array>
#include <utility>

#include "base/assert.h"

namespace belljar::crypto {
namespace {

using Bytes32 = std::array<unsigned char, 32>;

EVP_MD_CTX* digest_context(void* context) { return static_cast<EVP_MD_CTX*>(context); }

std::string to_string(const Bytes32& digest) { return {digest.begin(), digest.end()}; }

std::string to_hex(std::string_view digest) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    text.reserve(digest.size() * 2);
    for (const char byte : digest) {
        text += kDigits[static_cast<unsigned char>(byte) >> 4U];
        text += kDigits[static_cast<unsigned char>(byte) & 15U];
    }
    return text;
}

// Looked for once: to find out who computes it takes longer than a short text does.
const EVP_MD* sha256_method() {
    static const EVP_MD* const kMethod = ::EVP_MD_fetch(nullptr, "SHA256", nullptr);
    BJ_ASSERT(kMethod != nullptr);
    return kMethod;
}

}  // namespace

std::string sha256(std::string_view data) {
    Bytes32 digest{};
    unsigned length = 0;
    const int done =
        ::EVP_Digest(data.data(), data.size(), digest.data(), &length, sha256_method(), nullptr);
    BJ_ASSERT(done == 1 && length == digest.size());
    return to_string(digest);
}

std::string sha256_hex(std::string_view data) { return to_hex(sha256(data)); }

// RFC 2104. OpenSSL's own looks for who computes it, at each call.
std::string hmac_sha256(std::string_view key, std::string_view data) {
    constexpr std::size_t kBlock = 64;
    std::string inner = key.size() > kBlock ? sha256(key) : std::string(key);
    inner.resize(kBlock, '\0');
    std::string outer = inner;
    for (std::size_t index = 0; index < kBlock; ++index) {
        inner[index] = static_cast<char>(inner[index] ^ 0x36);
        outer[index] = static_cast<char>(outer[index] ^ 0x5C);
    }
    inner += data;
    outer += sha256(inner);
    std::string mac = sha256(outer);
    ::OPENSSL_cleanse(inner.data(), kBlock);
    ::OPENSSL_cleanse(outer.data(), kBlock);
    return mac;
}

Sha256::Sha256() : context_(::EVP_MD_CTX_new()) {
    BJ_ASSERT(context_ != nullptr);
    BJ_ASSERT(::EVP_DigestInit_ex(digest_context(context_), sha256_method(), nullptr) == 1);
}

Sha256::Sha256(Sha256&& other) noexcept : context_(std::exchange(other.context_, nullptr)) {}

Sha256& Sha256::operator=(Sha256&& other) noexcept {
    std::swap(context_, other.context_);
    return *this;
}

Sha256::~Sha256() { ::EVP_MD_CTX_free(digest_context(context_)); }

void Sha256::add(std::string_view data) {
    BJ_ASSERT(::EVP_DigestUpdate(digest_context(context_), data.data(), data.size()) == 1);
}

std::string Sha256::finish() {
    Bytes32 digest{};
    unsigned length = 0;
    BJ_ASSERT(::EVP_DigestFinal_ex(digest_context(context_), digest.data(), &length) == 1);
    BJ_ASSERT(length == digest.size());
    return to_hex(to_string(digest));
}

}  // namespace belljar::crypto
