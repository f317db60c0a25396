#include "config/value.h"

#include <gtest/gtest.h>

namespace belljar::config {
namespace {

using Kind = RawValue::Kind;
using namespace std::chrono_literals;

// The message with which the value is refused; empty if it is stored.
std::string refusal(std::string_view key, const RawValue& value) {
    Settings settings;
    const Result<void> stored = store(settings, *find_key(key), value);
    if (stored) {
        return "";
    }
    EXPECT_EQ(settings, Settings{}) << "a refused value must change nothing";
    EXPECT_EQ(stored.error().code, ErrorCode::InvalidArgument);
    return stored.error().message;
}

TEST(ConfigValue, ReadsDurationsFromNumbersAndText) {
    Settings settings;
    const Key& key = *find_key("limits.timeout");
    ASSERT_TRUE(store(settings, key, {.kind = Kind::Integer, .text = "45"}));
    EXPECT_EQ(settings.limits.timeout, 45s);
    ASSERT_TRUE(store(settings, key, {.kind = Kind::Decimal, .text = "0.5"}));
    EXPECT_EQ(settings.limits.timeout, 500ms);
    ASSERT_TRUE(store(settings, key, {.text = " 2m "}));
    EXPECT_EQ(settings.limits.timeout, 2min);
}

TEST(ConfigValue, RefusesSenselessNumbers) {
    for (const char* text :
         {"0", "-1", "nan", "inf", "1e300", "25h", "", "999999999999999999999"}) {
        EXPECT_NE(refusal("limits.timeout", {.text = text}), "") << text;
    }
    for (const char* text : {"0", "-1", "1.5m", "nan", "18446744073709551616", "17t", "abc", ""}) {
        EXPECT_NE(refusal("limits.memory", {.text = text}), "") << text;
    }
    for (const char* text : {"0", "-1", "nan", "inf", "1025", "1e400", "0.5x", ""}) {
        EXPECT_NE(refusal("limits.cpu", {.text = text}), "") << text;
    }
    for (const char* text : {"0", "-1", "1.0", "4294967296", "64k", "1 2", ""}) {
        EXPECT_NE(refusal("limits.processes", {.text = text}), "") << text;
    }
}

TEST(ConfigValue, NamedSecretsHaveANameAndASecret) {
    Settings settings;
    const Key& key = *find_key("auth.tokens");
    ASSERT_TRUE(store(settings, key, {.text = "ada:bj_1, ben.2-x_y:a:b"}));
    EXPECT_EQ(settings.auth.tokens, (std::vector<std::string>{"ada:bj_1", "ben.2-x_y:a:b"}));
    for (const char* text : {"bj_secret", ":bj_secret", "bj_secret:", "a b:bj_secret",
                             "a/b:bj_secret", "a:bj_secret x", "ada:1,bj_secret"}) {
        const std::string message = refusal("auth.tokens", {.text = text});
        EXPECT_TRUE(message.starts_with("found a value that is not shown; expected ")) << text;
        EXPECT_EQ(message.find("bj_"), std::string::npos) << message;
    }
}

TEST(ConfigValue, SaysWhatWasFoundAndWhatIsAllowed) {
    EXPECT_EQ(refusal("limits.timeout", {.text = "soon"}),
              "found \"soon\"; expected a duration such as 30 (seconds), 0.5, \"500ms\" or "
              "\"2m\", from 1ms to 24h");
    EXPECT_EQ(refusal("limits.processes", {.kind = Kind::Integer, .text = "0"}),
              "found 0; expected a whole number, from 1 to 32768");
    EXPECT_EQ(refusal("auth.mode", {.text = "maybe"}),
              "found \"maybe\"; expected one of: token, none, oauth");
    EXPECT_EQ(refusal("policy.network", {.text = "maybe"}),
              "found \"maybe\"; expected true or false");
    EXPECT_EQ(refusal("isolation.require", {.kind = Kind::Table, .text = "a table"}),
              "found a table; expected one of: full, standard, basic");
}

TEST(ConfigValue, RefusesAnotherTypeThanTheKeyHas) {
    EXPECT_NE(refusal("server.data_dir", {.kind = Kind::Integer, .text = "5"}), "");
    EXPECT_NE(refusal("policy.network", {.kind = Kind::Integer, .text = "1"}), "");
    EXPECT_NE(refusal("limits.memory", {.kind = Kind::Decimal, .text = "0.5"}), "");
    EXPECT_NE(refusal("limits.cpu", {.kind = Kind::Boolean, .text = "true"}), "");
    EXPECT_NE(refusal("limits.cpu", {.kind = Kind::List, .items = {"1"}}), "");
    EXPECT_NE(refusal("packages.blocked", {.kind = Kind::Boolean, .text = "true"}), "");
    EXPECT_NE(refusal("packages.blocked", {.kind = Kind::Other, .text = "a date or time"}), "");
}

TEST(ConfigValue, ReadsSwitchesAndChoicesInAnyCase) {
    Settings settings;
    for (const char* text : {"true", "True", "ON", "yes", "1"}) {
        settings.policy.network = Switch::Off;
        ASSERT_TRUE(store(settings, *find_key("policy.network"), {.text = text})) << text;
        EXPECT_EQ(settings.policy.network, Switch::On) << text;
    }
    for (const char* text : {"WARNING", "warn", "Warning"}) {
        settings.log.level = LogLevel::Info;
        ASSERT_TRUE(store(settings, *find_key("log.level"), {.text = text})) << text;
        EXPECT_EQ(settings.log.level, LogLevel::Warning) << text;
    }
    EXPECT_EQ(text_of(settings, *find_key("log.level")), "warning");
    EXPECT_EQ(text_of(settings, *find_key("policy.network")), "true");
}

TEST(ConfigValue, SplitsListsAtCommas) {
    Settings settings;
    const Key& key = *find_key("packages.blocked");
    ASSERT_TRUE(store(settings, key, {.text = "a, b ,c,"}));
    EXPECT_EQ(settings.packages.blocked, (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_EQ(text_of(settings, key), "a, b, c");
    ASSERT_TRUE(store(settings, key, {.kind = Kind::List}));
    EXPECT_TRUE(settings.packages.blocked.empty());
}

TEST(ConfigValue, RefusesListsThatWereMeantDifferently) {
    EXPECT_NE(refusal("packages.blocked", {.text = "[\"a\", \"b\"]"}), "");
    EXPECT_NE(refusal("packages.blocked", {.text = "a,,b"}), "");
    EXPECT_NE(refusal("packages.blocked", {.text = " "}), "");
    EXPECT_NE(refusal("packages.blocked", {.text = "a b"}), "");
    EXPECT_NE(refusal("packages.blocked", {.text = std::string(2001, ',')}), "");
    EXPECT_EQ(refusal("tools.dialects", {.kind = Kind::List, .items = {"code-runer"}}),
              "found the list \"code-runer\"; expected a list of some of: sandbox-service, "
              "code-runner, log-analysis");
    std::vector<std::string> many(1001, "a");
    EXPECT_NE(refusal("packages.blocked", {.kind = Kind::List, .items = many}), "");
}

TEST(ConfigValue, RefusesTextThatHidesSomething) {
    EXPECT_NE(refusal("server.data_dir", {.text = std::string("a\0b", 3)}), "");
    EXPECT_NE(refusal("server.data_dir", {.text = "a\nb"}), "");
    EXPECT_NE(refusal("server.data_dir", {.text = "a\xff"}), "");
    EXPECT_NE(refusal("server.data_dir", {.text = std::string(5000, 'a')}), "");
    EXPECT_NE(refusal("auth.token", {.text = "two words"}), "");
    EXPECT_NE(refusal("server.public_base_url", {.text = "example.com"}), "");
    EXPECT_NE(refusal("policy.profile", {.text = ""}), "");
    EXPECT_EQ(refusal("server.data_dir", {.text = ""}), "");
    EXPECT_EQ(refusal("server.data_dir", {.text = "/srv/größe mit raum"}), "");
}

TEST(ConfigValue, NeverShowsASecret) {
    const std::string message = refusal("auth.token", {.text = "hunter2 hunter2"});
    EXPECT_NE(message, "");
    EXPECT_EQ(message.find("hunter2"), std::string::npos) << message;
}

TEST(ConfigValue, ShowsHostileTextOnOneShortLine) {
    const std::string message =
        refusal("limits.timeout", {.text = "\x1b[31m\n" + std::string(9999, 'x')});
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_EQ(message.find('\x1b'), std::string::npos);
    EXPECT_LT(message.size(), 300U);
}

}  // namespace
}  // namespace belljar::config
