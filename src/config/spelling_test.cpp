#include "config/spelling.h"

#include <gtest/gtest.h>

#include <array>

namespace belljar::config {
namespace {

constexpr std::array<std::string_view, 3> kKnown{"timeout", "memory", "max_memory"};

TEST(ConfigSpelling, FindsTheNearestWord) {
    EXPECT_EQ(nearest("timout", kKnown), "timeout");
    EXPECT_EQ(nearest("max-memory", kKnown), "max_memory");
    EXPECT_EQ(nearest("Memory", kKnown), "memory");
}

TEST(ConfigSpelling, DoesNotGuessWildly) {
    EXPECT_EQ(nearest("colour", kKnown), std::nullopt);
    EXPECT_EQ(nearest("", kKnown), std::nullopt);
    EXPECT_EQ(nearest(std::string(1'000'000, 't'), kKnown), std::nullopt);
}

TEST(ConfigSpelling, FindsAKeyInAnotherSection) {
    EXPECT_NE(unknown_key("server.timeout").find("did you mean \"limits.timeout\"?"),
              std::string::npos);
    EXPECT_NE(unknown_key("listen").find("did you mean \"server.listen\"?"), std::string::npos);
}

TEST(ConfigSpelling, ListsWhatThereIsWithoutASuggestion) {
    EXPECT_EQ(unknown_key("auth.xyzzyxyzzy"),
              "unknown key \"auth.xyzzyxyzzy\". Keys in [auth]: mode, token, tokens, issuer, "
              "audience, jwks_url, "
              "jwks_path, algorithms, scopes_claim, roles_claim");
    EXPECT_EQ(unknown_section("xyzzyxyzzy"),
              "unknown section \"xyzzyxyzzy\". Sections: server, auth, files, storage, tools, "
              "limits, pool, sessions, policy, packages, isolation, runners, audit, alerts, "
              "privacy, log");
}

}  // namespace
}  // namespace belljar::config
