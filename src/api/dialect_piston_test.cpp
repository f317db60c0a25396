#include "api/dialect_piston.h"

#include <gtest/gtest.h>

namespace belljar::api {
namespace {

TEST(PistonTest, AVersionIsTheFirstNumberWithDots) {
    EXPECT_EQ(plain_version("Python 3.11.2"), "3.11.2");
    EXPECT_EQ(plain_version("v20.20.2"), "20.20.2");
    EXPECT_EQ(plain_version("gcc (Debian 12.2.0-14) 12.2.0"), "12.2.0");
    EXPECT_EQ(plain_version("5.4."), "5.4");
    EXPECT_EQ(plain_version(""), "0.0.0");
}

TEST(PistonTest, ASelectorMeansVersions) {
    for (const char* selector : {"*", "", "3", "3.x", "3.*", "3.11", "3.11.2", "=3.11.2", "^3.9",
                                 "~3.11.1", ">=3.11.2", "<=3.11.2", ">3.11", "<4"}) {
        EXPECT_TRUE(selects(selector, "3.11.2")) << selector;
    }
    for (const char* selector :
         {"4", "3.1", "3.11.3", "^3.12", "^2.9", "~3.10", ">3.11.2", "<3", "nonsense", "3.11.2.1",
          "3..2", "-1", "4294967295", "99999999999"}) {
        EXPECT_FALSE(selects(selector, "3.11.2")) << selector;
    }
    EXPECT_TRUE(selects("3", "3"));
}

}  // namespace
}  // namespace belljar::api
