#include "transport/tls_files.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cstdio>
#include <filesystem>
#include <memory>

namespace belljar::transport {
namespace {

using KeyPtr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using CertificatePtr = std::unique_ptr<X509, decltype(&X509_free)>;
using FilePtr = std::unique_ptr<std::FILE, decltype(&std::fclose)>;

class TlsFilesTest : public testing::Test {
   protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "tls-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        directory = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(directory); }

    [[nodiscard]] TlsFiles::Paths paths(const std::string& name) const {
        return {.certificate = directory + "/" + name + ".crt",
                .key = directory + "/" + name + ".key"};
    }

    // A key and a certificate that it has signed itself; the key is encrypted if there is a
    // passphrase.
    void make(const std::string& name, const char* passphrase = nullptr) {
        const KeyPtr key(EVP_EC_gen("P-256"), EVP_PKEY_free);
        const CertificatePtr certificate(X509_new(), X509_free);
        ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
        X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
        X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
        X509_set_pubkey(certificate.get(), key.get());
        X509_sign(certificate.get(), key.get(), EVP_sha256());
        const FilePtr certificate_file(std::fopen(paths(name).certificate.c_str(), "w"),
                                       std::fclose);
        ASSERT_EQ(PEM_write_X509(certificate_file.get(), certificate.get()), 1);
        const FilePtr key_file(std::fopen(paths(name).key.c_str(), "w"), std::fclose);
        const EVP_CIPHER* cipher = passphrase == nullptr ? nullptr : EVP_aes_128_cbc();
        ASSERT_EQ(PEM_write_PKCS8PrivateKey(key_file.get(), key.get(), cipher, nullptr, 0, nullptr,
                                            const_cast<char*>(passphrase)),
                  1);
    }

    std::string directory;
    Log log{"test", LogLevel::Error};
};

TEST_F(TlsFilesTest, APairThatFitsIsTaken) {
    make("first");
    const auto files = TlsFiles::open(paths("first"), log);
    ASSERT_TRUE(files) << files.error().describe();
    EXPECT_NE((*files)->context(), nullptr);
    EXPECT_EQ((*files)->context(), (*files)->context());
}

TEST_F(TlsFilesTest, RefusesWhatDoesNotFitOrIsNotThere) {
    make("first");
    make("second");
    const auto mixed = TlsFiles::open(
        {.certificate = paths("first").certificate, .key = paths("second").key}, log);
    ASSERT_FALSE(mixed);
    EXPECT_TRUE(mixed.error().message.starts_with("server.tls_key:"));
    const auto swapped =
        TlsFiles::open({.certificate = paths("first").key, .key = paths("first").key}, log);
    ASSERT_FALSE(swapped);
    EXPECT_TRUE(swapped.error().message.starts_with("server.tls_certificate:"));
    EXPECT_FALSE(TlsFiles::open(paths("nothing"), log));
}

TEST_F(TlsFilesTest, RefusesAKeyWithAPassphraseWithoutAsking) {
    make("locked", "secret");
    EXPECT_FALSE(TlsFiles::open(paths("locked"), log));
}

TEST_F(TlsFilesTest, ABadPairLeavesTheOldOneInForce) {
    make("first");
    make("second");
    const auto files = TlsFiles::open(paths("first"), log).value();
    const auto before = files->context();
    std::filesystem::copy_file(paths("second").key, paths("first").key,
                               std::filesystem::copy_options::overwrite_existing);
    EXPECT_FALSE(files->reload(paths("first")));
    EXPECT_EQ(files->context(), before);
    EXPECT_FALSE(files->reload(paths("nothing")));
    EXPECT_EQ(files->context(), before);
    EXPECT_TRUE(files->reload(paths("second")));
    EXPECT_NE(files->context(), before);
}

}  // namespace
}  // namespace belljar::transport
