#include "crypto/signing_key.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <array>

#include "base/assert.h"
#include "crypto/digest.h"

namespace belljar::crypto {
namespace {

constexpr std::size_t kKeySize = 32;
constexpr std::size_t kSignatureSize = 64;

EVP_PKEY* key_of(const std::shared_ptr<void>& key) { return static_cast<EVP_PKEY*>(key.get()); }

const unsigned char* bytes_of(std::string_view data) {
    return reinterpret_cast<const unsigned char*>(data.data());
}

struct FreeBio {
    void operator()(BIO* bio) const { ::BIO_free(bio); }
};
using BioPtr = std::unique_ptr<BIO, FreeBio>;

struct FreeContext {
    void operator()(EVP_MD_CTX* context) const { ::EVP_MD_CTX_free(context); }
};
using ContextPtr = std::unique_ptr<EVP_MD_CTX, FreeContext>;

BioPtr bio_of(std::string_view text) {
    return BioPtr(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string text_of(BIO* bio) {
    char* data = nullptr;
    const long size = ::BIO_get_mem_data(bio, &data);
    return {data, static_cast<std::size_t>(size)};
}

std::unexpected<Error> no_key() {
    return fail(ErrorCode::InvalidArgument, "this is no Ed25519 key as it was written");
}

// A passphrase is never asked for.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) { return -1; }

}  // namespace

SigningKey::SigningKey(void* key)
    : key_(key, [](void* held) { ::EVP_PKEY_free(static_cast<EVP_PKEY*>(held)); }) {
    BJ_ASSERT(key != nullptr);
}

SigningKey SigningKey::generate() {
    return SigningKey(::EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
}

Result<SigningKey> SigningKey::from_private_pem(std::string_view pem) {
    const BioPtr bio = bio_of(pem);
    EVP_PKEY* read = ::PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr);
    if (read == nullptr) {
        return no_key();
    }
    SigningKey key(read);
    if (::EVP_PKEY_get_id(read) != EVP_PKEY_ED25519 || key.private_pem() != pem) {
        return no_key();
    }
    return key;
}

Result<SigningKey> SigningKey::from_public_pem(std::string_view pem) {
    const BioPtr bio = bio_of(pem);
    EVP_PKEY* read = ::PEM_read_bio_PUBKEY(bio.get(), nullptr, no_passphrase, nullptr);
    if (read == nullptr) {
        return no_key();
    }
    SigningKey key(read);
    if (::EVP_PKEY_get_id(read) != EVP_PKEY_ED25519 || key.public_pem() != pem) {
        return no_key();
    }
    return key;
}

std::string SigningKey::private_pem() const {
    const BioPtr bio(::BIO_new(::BIO_s_mem()));
    BJ_ASSERT(::PEM_write_bio_PrivateKey(bio.get(), key_of(key_), nullptr, nullptr, 0, nullptr,
                                         nullptr) == 1);
    return text_of(bio.get());
}

std::string SigningKey::public_pem() const {
    const BioPtr bio(::BIO_new(::BIO_s_mem()));
    BJ_ASSERT(::PEM_write_bio_PUBKEY(bio.get(), key_of(key_)) == 1);
    return text_of(bio.get());
}

std::string SigningKey::public_bytes() const {
    std::array<unsigned char, kKeySize> bytes{};
    std::size_t size = bytes.size();
    BJ_ASSERT(::EVP_PKEY_get_raw_public_key(key_of(key_), bytes.data(), &size) == 1);
    return {bytes.begin(), bytes.end()};
}

std::string SigningKey::sign(std::string_view text) const {
    const ContextPtr context(::EVP_MD_CTX_new());
    std::array<unsigned char, kSignatureSize> signature{};
    std::size_t size = signature.size();
    BJ_ASSERT(::EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_of(key_)) == 1);
    BJ_ASSERT(
        ::EVP_DigestSign(context.get(), signature.data(), &size, bytes_of(text), text.size()) == 1);
    return {signature.begin(), signature.end()};
}

bool SigningKey::verify(std::string_view text, std::string_view signature) const {
    const ContextPtr context(::EVP_MD_CTX_new());
    return ::EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_of(key_)) == 1 &&
           ::EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(text),
                              text.size()) == 1;
}

std::string SigningKey::derive(std::string_view purpose) const {
    std::array<unsigned char, kKeySize> bytes{};
    std::size_t size = bytes.size();
    BJ_ASSERT(::EVP_PKEY_get_raw_private_key(key_of(key_), bytes.data(), &size) == 1);
    return hmac_sha256({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, purpose);
}

}  // namespace belljar::crypto
