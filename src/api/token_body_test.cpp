#include "api/token_body.h"

#include <gtest/gtest.h>

namespace belljar::api {
namespace {

constexpr access::WallTime kNow{std::chrono::seconds(1'800'000'000)};

json::object object(std::string_view text) { return parse_json(text).value().get_object(); }

TEST(TokenBody, ReadsANewToken) {
    const access::NewToken token =
        read_new_token(object(R"({"name":"a","roles":["admin"],"expires":"1d",
                                  "limits":{"runs_per_day":5,"storage_bytes":0}})"),
                       kNow)
            .value();
    EXPECT_EQ(token.name, "a");
    EXPECT_EQ(token.roles, std::vector<std::string>{"admin"});
    EXPECT_EQ(token.expires, kNow + std::chrono::days(1));
    EXPECT_EQ(token.limits.runs_per_day, 5U);
    EXPECT_EQ(token.limits.storage_bytes, 0U);
    EXPECT_FALSE(token.limits.concurrent_runs);
    EXPECT_EQ(read_new_token(object(R"({"name":"a"})"), kNow).value().roles,
              std::vector<std::string>{"user"});
}

TEST(TokenBody, RefusesWhatItDoesNotKnow) {
    for (const std::string_view text :
         {R"({})", R"({"name":1})", R"({"name":"a","roles":[]})", R"({"name":"a","roles":[1]})",
          R"({"name":"a","expires":1})", R"({"name":"a","expires":"x"})",
          R"({"name":"a","limits":[]})", R"({"name":"a","limits":{"more":1}})",
          R"({"name":"a","limits":{"runs_per_day":-1}})",
          R"({"name":"a","limits":{"requests_per_minute":5000000000}})",
          R"({"name":"a","more":1})"}) {
        const auto token = read_new_token(object(text), kNow);
        ASSERT_FALSE(token) << text;
        EXPECT_EQ(token.error().code, ErrorCode::InvalidArgument);
    }
}

TEST(TokenBody, AChangeTouchesOnlyWhatItNames) {
    const execution::PrincipalLimits before{.concurrent_runs = 2, .runs_per_day = 7};
    const access::TokenChange change =
        read_token_change(object(R"({"limits":{"runs_per_day":null,"requests_per_minute":9}})"),
                          before, kNow)
            .value();
    EXPECT_FALSE(change.roles);
    EXPECT_FALSE(change.expires);
    EXPECT_EQ(change.limits,
              (execution::PrincipalLimits{.requests_per_minute = 9, .concurrent_runs = 2}));
    EXPECT_EQ(read_token_change(object(R"({"expires":"never"})"), before, kNow).value().expires,
              std::optional<std::optional<access::WallTime>>(std::in_place, std::nullopt));
    EXPECT_FALSE(read_token_change(object(R"({"name":"b"})"), before, kNow));
}

TEST(TokenBody, ShowsEverythingButTheToken) {
    const json::object shown = token_json(
        {.name = "a", .sha256 = "secret", .roles = {"user"}, .created = kNow, .expires = kNow},
        kNow);
    EXPECT_EQ(to_text(shown).find("secret"), std::string::npos);
    EXPECT_EQ(shown.at("expires"), "2027-01-15T08:00:00Z");
    EXPECT_EQ(shown.at("expired"), true);
}

}  // namespace
}  // namespace belljar::api
