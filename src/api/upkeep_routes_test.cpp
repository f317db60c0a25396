#include "api/upkeep_routes.h"

#include <gtest/gtest.h>

namespace belljar::api {
namespace {

TEST(UpkeepRoutes, KnowsAllSecretsOfTheSettings) {
    config::Settings settings;
    settings.auth.token = "first-secret";
    settings.auth.tokens = {"ada:second-secret", "bob:third-secret"};
    settings.files.secret = "fourth-secret";
    const std::vector<std::string> secrets = secrets_of(settings);
    EXPECT_EQ(secrets, (std::vector<std::string>{"first-secret", "second-secret", "third-secret",
                                                 "fourth-secret"}));
    EXPECT_TRUE(secrets_of({}).empty());
}

TEST(UpkeepRoutes, CutsSecretsOutWhereverTheyStand) {
    EXPECT_EQ(without_secrets("a first b first", {"first", "b"}), "a *** *** ***");
    EXPECT_EQ(without_secrets("nothing", {"first"}), "nothing");
}

TEST(UpkeepRoutes, ShowsSettingsWithTheirOrigin) {
    const auto loaded = config::load(
        {.environment = {{"BELLJAR_AUTH_TOKEN", "bj_0123456789012345678901234567890123"},
                         {"BELLJAR_LIMITS_RUNS_PER_DAY", "7"}}});
    ASSERT_TRUE(loaded);
    const std::string text = to_text(configuration_json(*loaded));
    EXPECT_EQ(text.find("bj_0123"), std::string::npos);
    EXPECT_NE(text.find(R"({"key":"limits.runs_per_day","value":"7","origin":")"),
              std::string::npos);
}

}  // namespace
}  // namespace belljar::api
