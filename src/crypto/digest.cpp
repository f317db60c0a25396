#include "crypto/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <utility>

#include "base/assert.h"

namespace belljar::crypto {
namespace {

using Bytes32 = std::array<unsigned char, 32>;

EVP_MD_CTX* digest_context(void* context) { return static_cast<EVP_MD_CTX*>(context); }

const unsigned char* bytes_of(std::string_view data) {
    return reinterpret_cast<const unsigned char*>(data.data());
}

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

std::string hmac_sha256(std::string_view key, std::string_view data) {
    Bytes32 digest{};
    unsigned length = 0;
    const unsigned char* done = ::HMAC(sha256_method(), key.data(), static_cast<int>(key.size()),
                                       bytes_of(data), data.size(), digest.data(), &length);
    BJ_ASSERT(done != nullptr && length == digest.size());
    return to_string(digest);
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
