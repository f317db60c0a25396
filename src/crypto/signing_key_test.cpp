#include "crypto/signing_key.h"

#include <gtest/gtest.h>

namespace belljar::crypto {
namespace {

TEST(SigningKey, SignsWhatItsPublicHalfVerifies) {
    const SigningKey key = SigningKey::generate();
    const Result<SigningKey> shown = SigningKey::from_public_pem(key.public_pem());
    ASSERT_TRUE(shown);
    const std::string signature = key.sign("text");
    EXPECT_TRUE(shown->verify("text", signature));
    EXPECT_FALSE(shown->verify("test", signature));
    EXPECT_FALSE(SigningKey::generate().verify("text", signature));
}

TEST(SigningKey, ComesBackOutOfItsFile) {
    const SigningKey key = SigningKey::generate();
    const Result<SigningKey> again = SigningKey::from_private_pem(key.private_pem());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->public_bytes(), key.public_bytes());
    EXPECT_EQ(again->derive("a"), key.derive("a"));
    EXPECT_NE(again->derive("a"), key.derive("b"));
}

TEST(SigningKey, TakesNoFileWithAChangedByte) {
    const SigningKey key = SigningKey::generate();
    for (const std::string& pem : {key.private_pem(), key.public_pem()}) {
        const bool is_private = pem.starts_with("-----BEGIN PRIVATE");
        for (std::size_t index = 0; index < pem.size(); ++index) {
            std::string changed = pem;
            changed[index] = static_cast<char>(changed[index] ^ 1);
            const Result<SigningKey> read = is_private ? SigningKey::from_private_pem(changed)
                                                       : SigningKey::from_public_pem(changed);
            EXPECT_TRUE(!read || read->public_bytes() != key.public_bytes()) << index;
        }
    }
}

}  // namespace
}  // namespace belljar::crypto
