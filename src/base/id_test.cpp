#include "base/id.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace belljar {
namespace {

TEST(RandomHex, HasTwoLettersPerByte) {
    EXPECT_EQ(random_hex(0), "");
    for (const std::size_t bytes : {1U, 4U, 16U, 32U, 1000U}) {
        const std::string text = random_hex(bytes);
        EXPECT_EQ(text.size(), bytes * 2);
        EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos);
    }
}

TEST(RandomHex, DoesNotRepeat) {
    std::set<std::string> seen;
    for (int round = 0; round < 1000; ++round) {
        EXPECT_TRUE(seen.insert(random_hex(16)).second);
    }
}

TEST(MakeUuid, IsARandomUuidOfVersion4) {
    const std::regex form("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
    std::set<std::string> seen;
    std::set<char> variants;
    for (int round = 0; round < 1000; ++round) {
        const std::string uuid = make_uuid();
        EXPECT_TRUE(std::regex_match(uuid, form)) << uuid;
        EXPECT_TRUE(seen.insert(uuid).second);
        variants.insert(uuid[19]);
    }
    EXPECT_EQ(variants, (std::set<char>{'8', '9', 'a', 'b'}));
}

TEST(EqualInConstantTime, ComparesEveryByte) {
    EXPECT_TRUE(equal_in_constant_time("", ""));
    EXPECT_TRUE(equal_in_constant_time("secret", "secret"));
    EXPECT_FALSE(equal_in_constant_time("secret", "secreT"));
    EXPECT_FALSE(equal_in_constant_time("secret", "Secret"));
    EXPECT_FALSE(equal_in_constant_time("secret", "secre"));
    EXPECT_FALSE(equal_in_constant_time("secret", "secret "));
    EXPECT_FALSE(equal_in_constant_time("", "x"));
    EXPECT_FALSE(equal_in_constant_time(std::string_view("a\0b", 3), std::string_view("a\0c", 3)));
    EXPECT_FALSE(equal_in_constant_time("\x80", "\x7F"));
}

}  // namespace
}  // namespace belljar
