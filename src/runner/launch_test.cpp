#include "runner/launch.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace belljar::runner {
namespace {

ManifestPtr compiled() {
    return std::make_shared<const Manifest>(
        Manifest{.language = "c",
                 .detect = {"/usr/bin/gcc"},
                 .version = {"{program}", "--version"},
                 .version_prefix = "gcc ",
                 .file = "main.c",
                 .compile = {.command = {"{program}", "-o{output}", "{file}"},
                             .timeout = std::chrono::seconds(9),
                             .memory = mebibytes(7)},
                 .command = {"{output}", "{directory}", "{args}"},
                 .environment = {"HOME=/workspace", "A=1"}});
}

TEST(Launch, FillsInWhatTheManifestLeavesOpen) {
    const ManifestPtr manifest = with_program(compiled(), "/opt/bin/gcc");
    const jar::LaunchRequest launch =
        launch_of(*manifest, {.code = "int x;",
                              .arguments = {"{file}", "b"},
                              .environment = {{"A", "2"}, {"B", "3"}},
                              .files = {{"data/in", "text"}, {"main.c", "not this"}}});
    EXPECT_EQ(launch.compile,
              (std::vector<std::string>{"/opt/bin/gcc", "-o/tmp/program", "main.c"}));
    EXPECT_EQ(launch.compile_time, Duration(std::chrono::seconds(9)));
    EXPECT_EQ(launch.compile_memory, mebibytes(7));
    EXPECT_EQ(launch.run, (std::vector<std::string>{"/tmp/program", "/opt/bin"}));
    EXPECT_EQ(launch.arguments, (std::vector<std::string>{"{file}", "b"})) << "as they are";
    EXPECT_EQ(launch.environment, (std::vector<std::string>{"HOME=/workspace", "A=2", "B=3"}));
    ASSERT_EQ(launch.files.size(), 3U);
    EXPECT_EQ(launch.files.back().path, "main.c");
    EXPECT_EQ(launch.files.back().content, "int x;") << "the program comes last and stays";
}

TEST(Launch, ArgumentsAreForWhoTakesThem) {
    Manifest manifest = *compiled();
    manifest.command = {"/usr/bin/bc", "{file}"};
    EXPECT_TRUE(launch_of(manifest, {.arguments = {"a"}}).arguments.empty());
}

TEST(Launch, WithoutAPlaceholderAManifestStaysTheSame) {
    const auto manifest =
        std::make_shared<const Manifest>(Manifest{.command = {"/usr/bin/bc", "{file}"}});
    EXPECT_EQ(with_program(manifest, "/usr/bin/bc"), manifest);
}

TEST(Launch, TheVersionIsARunOfItsOwn) {
    const ManifestPtr version = version_of(with_program(compiled(), "/usr/bin/gcc"));
    const jar::LaunchRequest launch = launch_of(*version, {});
    EXPECT_TRUE(launch.compile.empty());
    EXPECT_EQ(launch.run, (std::vector<std::string>{"/usr/bin/gcc", "--version"}));
}

TEST(Launch, TheRequestIsWhatTheGuestUnderstands) {
    EXPECT_TRUE(jar::decode_launch_request(encode_request(*compiled(), {.code = "x"}, "m")));
    const Manifest python{.bootstrap = "exec", .command = {"/usr/bin/python3"}};
    EXPECT_EQ(parse_json(encode_request(python, {.code = "x"}, "m")).value().at("code").as_string(),
              "x");
}

TEST(Launch, ReadsTheVersion) {
    const Manifest manifest = *compiled();
    EXPECT_EQ(version_in(manifest, "gcc 12.2.0 (Debian)\nmore"), "12.2.0");
    EXPECT_EQ(version_in(manifest, "\n\n  12.2.0\n"), "12.2.0");
    EXPECT_EQ(version_in(manifest, "12.2.0, of today"), "12.2.0");
    EXPECT_EQ(version_in(manifest, ""), "");
    EXPECT_EQ(version_in(manifest, "\n \n"), "");
    EXPECT_EQ(version_in(manifest, "gcc "), "");
    EXPECT_EQ(version_in(manifest, "1\xff"), "1\xEF\xBF\xBD");
    EXPECT_EQ(version_in(manifest, std::string(1000, '1')).size(), 64U);
}

}  // namespace
}  // namespace belljar::runner
