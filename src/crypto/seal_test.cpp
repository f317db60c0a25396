#include "crypto/seal.h"

#include <gtest/gtest.h>

namespace belljar::crypto {
namespace {

const std::string kKey(32, 'k');

TEST(Seal, GivesBackWhatWasSealed) {
    for (const std::string& text : {std::string(), std::string("alice"), std::string(5000, 'x')}) {
        EXPECT_EQ(unseal(kKey, seal(kKey, text)), text);
    }
}

TEST(Seal, HidesTheTextAndNeverLooksTheSame) {
    const std::string sealed = seal(kKey, "alice");
    EXPECT_EQ(sealed.find("alice"), std::string::npos);
    EXPECT_NE(sealed, seal(kKey, "alice"));
}

TEST(Seal, RefusesEveryChange) {
    const std::string sealed = seal(kKey, "alice");
    for (std::size_t index = 0; index < sealed.size(); ++index) {
        std::string changed = sealed;
        changed[index] = static_cast<char>(changed[index] ^ 1);
        EXPECT_EQ(unseal(kKey, changed), std::nullopt) << index;
    }
    EXPECT_EQ(unseal(std::string(32, 'j'), sealed), std::nullopt);
    EXPECT_EQ(unseal(kKey, sealed.substr(1)), std::nullopt);
    EXPECT_EQ(unseal(kKey, ""), std::nullopt);
}

}  // namespace
}  // namespace belljar::crypto
