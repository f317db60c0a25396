#include "config/load.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "base/fd.h"

namespace belljar::config {
namespace {

using namespace std::chrono_literals;

LoadInputs file(std::string text) {
    return LoadInputs{.file_path = "belljar.toml", .file_text = std::move(text)};
}

LoadInputs environment(Environment variables) {
    return LoadInputs{.environment = std::move(variables)};
}

// The message with which loading fails; empty if it succeeds.
std::string refusal(const LoadInputs& inputs) {
    const Result<Loaded> loaded = load(inputs);
    if (loaded) {
        return "";
    }
    EXPECT_EQ(loaded.error().code, ErrorCode::InvalidArgument);
    return loaded.error().message;
}

bool mentions(const std::string& message, std::string_view part) {
    return message.find(part) != std::string::npos;
}

TEST(ConfigLoad, GivesDefaultsFromNothing) {
    const Loaded loaded = load({}).value();
    EXPECT_EQ(loaded.settings, Settings{});
    EXPECT_EQ(loaded.entries.size(), all_keys().size());
    EXPECT_EQ(loaded.origin_of("server.listen").describe(), "default");
    EXPECT_EQ(load(file("")).value().settings, Settings{});
}

TEST(ConfigLoad, ReadsEveryKindOfKeyFromAFile) {
    const Loaded loaded = load(file(R"(
[server]
listen = "[::1]:9000"
allowed_hosts = ["a.example", "b.example"]
[auth]
mode = "none"
[limits]
timeout = 0.5
max_timeout = 60
memory = 1073741824
max_memory = "2g"
cpu = 2
processes = 10
[policy]
network = true
[isolation]
require = "full"
[log]
level = "DEBUG"
)"))
                              .value();
    const Settings& settings = loaded.settings;
    EXPECT_EQ(settings.server.listen, (ListenAddress{.host = "::1", .port = 9000}));
    EXPECT_EQ(settings.server.allowed_hosts, (std::vector<std::string>{"a.example", "b.example"}));
    EXPECT_EQ(settings.auth.mode, AuthMode::None);
    EXPECT_EQ(settings.limits.timeout, 500ms);
    EXPECT_EQ(settings.limits.max_timeout, 60s);
    EXPECT_EQ(settings.limits.memory, gibibytes(1));
    EXPECT_EQ(settings.limits.max_memory, gibibytes(2));
    EXPECT_EQ(settings.limits.cpu, 2.0);
    EXPECT_EQ(settings.limits.processes, 10U);
    EXPECT_EQ(settings.policy.network, Switch::On);
    EXPECT_EQ(settings.isolation.require, IsolationFloor::Full);
    EXPECT_EQ(settings.log.level, LogLevel::Debug);
    EXPECT_EQ(loaded.origin_of("server.listen").describe(), "belljar.toml:3");
    EXPECT_EQ(loaded.origin_of("limits.tmp").describe(), "default");
}

TEST(ConfigLoad, StrongerSourcesWin) {
    LoadInputs inputs = file("limits.timeout = 1");
    EXPECT_EQ(load(inputs).value().settings.limits.timeout, 1s);
    inputs.environment["SANDBOX_TIMEOUT"] = "2";
    EXPECT_EQ(load(inputs).value().settings.limits.timeout, 2s);
    EXPECT_EQ(load(inputs).value().origin_of("limits.timeout").describe(),
              "environment SANDBOX_TIMEOUT");
    inputs.environment["BELLJAR_LIMITS_TIMEOUT"] = "3";
    EXPECT_EQ(load(inputs).value().settings.limits.timeout, 3s);
    inputs.flags["limits.timeout"] = {.text = "4", .flag = "--timeout"};
    EXPECT_EQ(load(inputs).value().settings.limits.timeout, 4s);
    EXPECT_EQ(load(inputs).value().origin_of("limits.timeout").describe(), "flag --timeout");
}

TEST(ConfigLoad, ChecksAlsoWhatIsOverridden) {
    LoadInputs inputs = file("limits.timeout = \"soon\"");
    inputs.flags["limits.timeout"] = {.text = "4", .flag = "--timeout"};
    EXPECT_TRUE(mentions(refusal(inputs), "belljar.toml:1: limits.timeout: found \"soon\""));
}

TEST(ConfigLoad, NamesTheNearestKeyForATypo) {
    const std::string message = refusal(file("[limits]\n\ntimout = 3\n"));
    EXPECT_TRUE(
        message.starts_with("belljar.toml:3: unknown key \"limits.timout\"; did you mean "
                            "\"limits.timeout\"? Keys in [limits]: timeout, max_timeout,"))
        << message;
}

TEST(ConfigLoad, NamesTheNearestSectionForATypo) {
    const std::string message = refusal(file("[limit]\ntimeout = 3\n"));
    EXPECT_TRUE(
        message.starts_with("belljar.toml:1: unknown section \"limit\"; did you mean "
                            "\"limits\"? Sections: server, auth,"))
        << message;
}

TEST(ConfigLoad, ExplainsAValueWhereASectionBelongs) {
    for (const char* text : {"limits = 5", "[[limits]]\ntimeout = 5"}) {
        EXPECT_EQ(refusal(file(text)),
                  "belljar.toml:1: limits is a section; write [limits] and its keys below it");
    }
    EXPECT_TRUE(mentions(refusal(file("[limits.timeout]\nx = 1")),
                         "belljar.toml:1: limits.timeout: found a table; expected a duration"));
    EXPECT_TRUE(mentions(refusal(file("[limits.more]\nx = 1")), "unknown key \"limits.more\""));
    EXPECT_TRUE(mentions(refusal(file("\"\" = 1")), "unknown key \"\""));
}

TEST(ConfigLoad, ReportsAllProblemsInTheOrderOfTheirLines) {
    LoadInputs inputs = file("[policy]\nnetwork = 3\n[auth]\nmode = \"maybe\"\n");
    inputs.environment["BELLJAR_LOG_LEVEL"] = "loud";
    inputs.flags["server.listen"] = {.text = "here", .flag = "--listen"};
    const std::string message = refusal(inputs);
    EXPECT_EQ(message,
              "belljar.toml:2: policy.network: found 3; expected true or false\n"
              "belljar.toml:4: auth.mode: found \"maybe\"; expected one of: token, none, oauth\n"
              "environment BELLJAR_LOG_LEVEL: log.level: found \"loud\"; expected one of: debug, "
              "info, warning, error, warn\n"
              "flag --listen: server.listen: found \"here\"; expected an address such as "
              "\"127.0.0.1:8080\", \"[::1]:8080\" or \":8080\"");
}

TEST(ConfigLoad, CountsProblemsBeyondTheFirstTwenty) {
    std::string text;
    for (int number = 0; number < 50; ++number) {
        text += "key" + std::to_string(number) + " = 1\n";
    }
    const std::string message = refusal(file(text));
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 20);
    EXPECT_TRUE(message.ends_with("\nand 30 more"));
}

TEST(ConfigLoad, SaysWhereTheFileIsNotToml) {
    EXPECT_TRUE(refusal(file("[limits]\ntimeout = = 3\n")).starts_with("belljar.toml:2:11: not "))
        << refusal(file("[limits]\ntimeout = = 3\n"));
    EXPECT_TRUE(
        mentions(refusal(file("limits.timeout = 1\nlimits.timeout = 2")), "belljar.toml:2:"));
    EXPECT_TRUE(mentions(refusal(file("a = \"\xff\"")), "belljar.toml:1:"));
    EXPECT_TRUE(mentions(refusal(file("[,limits]")), "belljar.toml:1:2: not valid TOML"));
    EXPECT_TRUE(mentions(refusal(file("limits.cpu = 99999999999999999999")), "belljar.toml:1:"));
}

TEST(ConfigLoad, RefusesNulBytesAndHugeFiles) {
    EXPECT_EQ(refusal(file(std::string("# a\n\0", 5))),
              "belljar.toml:2: the line contains a NUL byte or is not UTF-8");
    EXPECT_EQ(refusal(file(std::string((1 << 20) + 1, '\n'))),
              "belljar.toml: the file is larger than 1m");
    EXPECT_EQ(refusal(file(std::string(1 << 20, '\n'))), "");
}

TEST(ConfigLoad, RefusesDepthBeforeItOverflowsTheStack) {
    std::string dotted = "a";
    std::string nested = "a = ";
    for (int level = 0; level < 200'000; ++level) {
        dotted += ".a";
        nested += "[";
    }
    EXPECT_TRUE(mentions(refusal(file(dotted + " = 1")), "too many dots"));
    EXPECT_TRUE(mentions(refusal(file("[" + dotted + "]")), "too many dots"));
    EXPECT_TRUE(mentions(refusal(file(nested)), "belljar.toml:1:"));
    EXPECT_TRUE(mentions(refusal(file("a = [\"\"\"\n\"\"\", {" + dotted + " = 1}]")), "lines"));
    const std::string quoted_dots(100, '.');
    EXPECT_EQ(refusal(file("server.data_dir = '" + quoted_dots + "' # " + quoted_dots)), "");
    EXPECT_EQ(refusal(file("server.data_dir = \"\\\\\\\"" + quoted_dots + "\"")), "");
}

TEST(ConfigLoad, TakesOtherThanAsciiInDoubleQuotes) {
    const std::string text = "server.data_dir = \"/gr\u00f6\u00dfe\" # \u025a\n";
    EXPECT_EQ(load(file(text)).value().settings.server.data_dir, "/gr\u00f6\u00dfe");
    EXPECT_EQ(load(file("\xef\xbb\xbf" + text)).value().settings.server.data_dir,
              "/gr\u00f6\u00dfe");
    EXPECT_TRUE(mentions(refusal(file("\"\u00f6\" = 1")), "unknown key \"\u00f6\""));
    EXPECT_TRUE(mentions(refusal(file("a =0\"\u0429\"")), "belljar.toml:1:"));
}

TEST(ConfigLoad, RefusesNumbersThatAreNone) {
    for (const char* value : {"nan", "inf", "-1", "-0.5", "0", "1e300", "true", "1979-05-27"}) {
        const std::string message = refusal(file(std::string("[limits]\ntimeout = ") + value));
        EXPECT_TRUE(message.starts_with("belljar.toml:2: limits.timeout: found ")) << message;
    }
}

TEST(ConfigLoad, ReadsTheFileItIsPointedAt) {
    std::string path = "/tmp/belljar_config_test_XXXXXX";
    const Fd written(::mkstemp(path.data()));
    ASSERT_TRUE(written.valid());
    ASSERT_TRUE(write_all(written, "[log]\nlevel = \"error\"\n"));
    EXPECT_EQ(load({.file_path = path}).value().settings.log.level, LogLevel::Error);
    const Loaded loaded = load(environment({{"BELLJAR_CONFIG", path}})).value();
    EXPECT_EQ(loaded.origin_of("log.level").describe(), path + ":2");
    ::unlink(path.c_str());
}

TEST(ConfigLoad, SaysWhyAFileCannotBeRead) {
    EXPECT_EQ(refusal({.file_path = "/nonexistent/belljar.toml"}),
              "/nonexistent/belljar.toml: cannot be read: No such file or directory");
    EXPECT_EQ(refusal({.file_path = "/"}), "/: cannot be read: Is a directory");
    EXPECT_TRUE(mentions(refusal({.file_path = "/dev/zero"}), "larger than the limit of 1m"));
    EXPECT_TRUE(mentions(refusal({.file_path = ""}), "not the path of a file"));
    EXPECT_TRUE(mentions(refusal({.file_path = std::string("a\0b", 3)}), "not the path"));
}

TEST(ConfigLoad, RefusesAFlagForNoKey) {
    const LoadInputs inputs{.flags = {{"limits.timout", {.text = "1", .flag = "--set"}}}};
    EXPECT_TRUE(refusal(inputs).starts_with("flag --set: unknown key \"limits.timout\"; did you"));
}

TEST(ConfigLoad, LowersADefaultToALoweredMaximum) {
    const Loaded loaded =
        load(file("limits.max_timeout = 10\nlimits.max_memory = \"64m\"")).value();
    EXPECT_EQ(loaded.settings.limits.timeout, 10s);
    EXPECT_EQ(loaded.settings.limits.memory, mebibytes(64));
    EXPECT_EQ(loaded.origin_of("limits.timeout").describe(),
              "default, lowered to limits.max_timeout");
}

TEST(ConfigLoad, RefusesAChosenValueAboveItsMaximum) {
    LoadInputs inputs = file("limits.timeout = 20");
    inputs.environment["MAX_EXECUTION_TIME"] = "10";
    EXPECT_EQ(refusal(inputs),
              "limits.timeout is 20s (belljar.toml:1) but limits.max_timeout is 10s (environment "
              "MAX_EXECUTION_TIME); the first may not exceed the second");
    EXPECT_TRUE(mentions(refusal(file("limits.memory = \"8g\"")), "limits.max_memory is 4g (def"));
}

TEST(ConfigLoad, NoMoreJarsAreReadyThanThereMayBe) {
    EXPECT_EQ(load(file("pool.most = 1"))->settings.pool.ready, 1U);
    EXPECT_EQ(load(file("pool.ready = 0"))->settings.pool.most, 32U);
    EXPECT_TRUE(mentions(refusal(file("pool.ready = 33")), "pool.most is 32 (default)"));
}

TEST(ConfigLoad, RefusesUserIdsBeyondTheLast) {
    EXPECT_TRUE(mentions(refusal(file("isolation.uid_base = 4294967294\nisolation.uid_count = 2")),
                         "beyond the last user id, 4294967294"));
    EXPECT_EQ(refusal(file("isolation.uid_base = 4294967294\nisolation.uid_count = 1")), "");
}

TEST(ConfigLoad, OAuthNeedsAnIssuerAndItsKeys) {
    const std::string issuer = "[auth]\nmode = \"oauth\"\nissuer = \"https://login.example\"\n";
    const std::string url = "jwks_url = \"https://login.example/keys\"\n";
    const std::string path = "jwks_path = \"/etc/belljar/keys.json\"\n";
    EXPECT_EQ(refusal(file(issuer + url)), "");
    EXPECT_EQ(refusal(file(issuer + path)), "");
    EXPECT_TRUE(mentions(refusal(file(issuer)), "auth.jwks_url and auth.jwks_path"));
    EXPECT_TRUE(mentions(refusal(file(issuer + url + path)), "not both"));
    EXPECT_TRUE(mentions(refusal(file("[auth]\nmode = \"oauth\"\n" + url)), "auth.issuer"));
    EXPECT_TRUE(mentions(refusal(file(issuer + url + "algorithms = [\"HS256\"]\n")), "HS256"));
    EXPECT_TRUE(mentions(refusal(file(issuer + url + "algorithms = [\"none\"]\n")), "RS256"));
}

}  // namespace
}  // namespace belljar::config
