#include "config/environment.h"

#include <gtest/gtest.h>

#include <array>

#include "config/load.h"

namespace belljar::config {
namespace {

using namespace std::chrono_literals;

std::string refusal(Environment variables) {
    const Result<Loaded> loaded = load({.environment = std::move(variables)});
    return loaded ? "" : loaded.error().message;
}

Settings settings_of(Environment variables) {
    const Result<Loaded> loaded = load({.environment = std::move(variables)});
    EXPECT_TRUE(loaded.has_value()) << loaded.error().message;
    return loaded ? loaded->settings : Settings{};
}

TEST(ConfigEnvironment, EveryKeyHasAVariable) {
    for (const Key& key : all_keys()) {
        const std::string text(key.default_text.empty() ? key.minimum : key.default_text);
        const Loaded loaded = load({.environment = {{variable_name(key), text}}}).value();
        EXPECT_EQ(loaded.settings, Settings{}) << key.name;
        EXPECT_EQ(loaded.origin_of(key.name).describe(),
                  text.empty() ? "default" : "environment " + variable_name(key));
    }
}

TEST(ConfigEnvironment, ReadsTheNamesOfOlderDocuments) {
    const Settings settings = settings_of({{"SANDBOX_API_TOKEN", "token"},
                                           {"FILE_SECRET", "secret"},
                                           {"SANDBOX_ROOT", "/data"},
                                           {"PUBLIC_BASE_URL", "https://x.example/"},
                                           {"MCP_HTTP_ADDR", ":9000"},
                                           {"MAX_EXECUTION_TIME", "120"},
                                           {"MAX_MEMORY_MB", "512"},
                                           {"BLOCKED_PACKAGES", "a, b"},
                                           {"LOG_LEVEL", "WARNING"},
                                           {"TOOLS_PATH", "/tools"},
                                           {"WORKSPACE_PATH", "/workspaces"}});
    EXPECT_EQ(settings.auth.token, "token");
    EXPECT_EQ(settings.files.secret, "secret");
    EXPECT_EQ(settings.server.data_dir, "/data");
    EXPECT_EQ(settings.server.public_base_url, "https://x.example/");
    EXPECT_EQ(settings.server.listen, (ListenAddress{.host = "", .port = 9000}));
    EXPECT_EQ(settings.limits.max_timeout, 120s);
    EXPECT_EQ(settings.limits.max_memory, mebibytes(512));
    EXPECT_EQ(settings.packages.blocked, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(settings.log.level, LogLevel::Warning);
    EXPECT_EQ(settings.tools.path, "/tools");
    EXPECT_EQ(settings.files.workspace_path, "/workspaces");
}

TEST(ConfigEnvironment, ReadsTheNamesOfTheSandboxService) {
    const Settings settings = settings_of({{"SANDBOX_TIMEOUT", "7"},
                                           {"SANDBOX_MAX_OUTPUT_SIZE", "2048"},
                                           {"SANDBOX_ENABLE_NETWORK", "true"},
                                           {"SANDBOX_ENABLE_FILESYSTEM", "True"},
                                           {"SANDBOX_ENABLE_DATA_SCIENCE", "false"},
                                           {"SANDBOX_ALLOWED_IMPORTS", "math,json"},
                                           {"SANDBOX_ENABLE_CONTAINER_MODE", "true"},
                                           {"SANDBOX_CONTAINER_IMAGE", "python:3.12-slim"},
                                           {"SANDBOX_DEFAULT_MEMORY_LIMIT", "128m"}});
    EXPECT_EQ(settings.limits.timeout, 7s);
    EXPECT_EQ(settings.limits.output, kibibytes(2));
    EXPECT_EQ(settings.policy.network, Switch::On);
    EXPECT_EQ(settings.policy.filesystem, Switch::On);
    EXPECT_EQ(settings.policy.data_science, Switch::Off);
    EXPECT_EQ(settings.policy.allowed_imports, (std::vector<std::string>{"math", "json"}));
    EXPECT_EQ(settings.isolation.container_mode, Switch::On);
    EXPECT_EQ(settings.isolation.container_image, "python:3.12-slim");
    EXPECT_EQ(settings.limits.memory, mebibytes(128));
}

TEST(ConfigEnvironment, CountsMebibytesOnlyInPlainNumbers) {
    EXPECT_EQ(settings_of({{"MAX_MEMORY_MB", "1g"}}).limits.max_memory, gibibytes(1));
    EXPECT_NE(refusal({{"MAX_MEMORY_MB", "99999999999999999999"}}), "");
    EXPECT_NE(refusal({{"MAX_MEMORY_MB", "-5"}}), "");
    EXPECT_NE(refusal({{"MAX_MEMORY_MB", "0"}}), "");
    EXPECT_NE(refusal({{"BELLJAR_LIMITS_MAX_MEMORY", "512"}}), "") << "bytes, below the least";
}

TEST(ConfigEnvironment, RefusesAnUnknownVariableOfOurs) {
    EXPECT_EQ(refusal({{"BELLJAR_LIMITS_TIMOUT", "5"}}),
              "environment: unknown variable \"BELLJAR_LIMITS_TIMOUT\"; did you mean "
              "\"BELLJAR_LIMITS_TIMEOUT\"?");
    EXPECT_EQ(refusal({{"BELLJAR_XYZZY", "5"}}),
              "environment: unknown variable \"BELLJAR_XYZZY\".");
    EXPECT_NE(refusal({{"BELLJAR_LOG_LEVLE", ""}}), "") << "a typo is one without a value too";
}

TEST(ConfigEnvironment, IgnoresReservedAndForeignNames) {
    EXPECT_EQ(refusal({{"BELLJAR_BINARY", "x"},
                       {"BELLJAR_TEST_SEED", "5"},
                       {"BELLJAR_CONFIG", ""},
                       {"BELLJARS", "5"},
                       {"HOME", "/"},
                       {"SANDBOX_OTHER", "5"}}),
              "");
}

TEST(ConfigEnvironment, TakesAnEmptyVariableForUnset) {
    EXPECT_EQ(settings_of({{"MAX_MEMORY_MB", ""}, {"BELLJAR_LOG_LEVEL", ""}}), Settings{});
    EXPECT_EQ(settings_of({{"MCP_API_TOKEN", ""}, {"MCP_API_KEY", "k"}}).auth.token, "k");
}

TEST(ConfigEnvironment, RefusesAliasesThatDisagree) {
    const std::string message = refusal({{"MCP_API_TOKEN", "hunter2"}, {"MCP_API_KEY", "hunter3"}});
    EXPECT_EQ(message,
              "environment: MCP_API_TOKEN and MCP_API_KEY both set auth.token, to different "
              "values; keep one");
    EXPECT_EQ(settings_of({{"MCP_API_TOKEN", "same"}, {"SANDBOX_API_TOKEN", "same"}}).auth.token,
              "same");
}

TEST(ConfigEnvironment, CopiesTheListOfTheProgram) {
    const std::array<const char*, 5> variables{"A=1", "B=", "C=x=y", "broken", nullptr};
    EXPECT_EQ(copy_environment(variables.data()),
              (Environment{{"A", "1"}, {"B", ""}, {"C", "x=y"}}));
    EXPECT_TRUE(copy_environment(nullptr).empty());
}

}  // namespace
}  // namespace belljar::config
