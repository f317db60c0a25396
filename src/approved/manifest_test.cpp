#include "approved/manifest.h"

#include <gtest/gtest.h>

namespace belljar::approved {
namespace {

const std::string kDigest(64, 'a');

std::string module_text(const std::string& file, const std::string& more = "") {
    return "[[module]]\nfile = \"" + file + "\"\nsha256 = \"" + kDigest +
           "\"\nowner = \"platform\"\nversion = \"1.0\"\n" + more;
}

std::string refusal(const std::string& text) {
    const auto parsed = parse_manifest("manifest.toml", text);
    return parsed ? "" : parsed.error().message;
}

TEST(ToolManifest, SaysWhatIsApprovedForWhom) {
    const auto parsed = parse_manifest(
        "manifest.toml", module_text("log_store.py",
                                     "description = \"Logs\"\nprincipals = [\"ada\"]\n"
                                     "roles = [\"analyst\"]\ntool_sets = [\"log-analysis\"]\n"
                                     "needs = [\"logs\"]\n") +
                             module_text("deep/part.py"));
    ASSERT_TRUE(parsed) << parsed.error().message;
    ASSERT_EQ(parsed->size(), 2U);
    EXPECT_EQ(parsed->front().owner, "platform");
    EXPECT_TRUE(parsed->front().needs_logs);
    EXPECT_FALSE(parsed->back().needs_logs);
    EXPECT_EQ(module_name(parsed->back().file), "deep.part");
    EXPECT_EQ(parse_manifest("manifest.toml", write_manifest(*parsed)).value(), *parsed);
}

TEST(ToolManifest, AnEmptyOneApprovesNothing) {
    EXPECT_TRUE(parse_manifest("manifest.toml", "").value().empty());
}

TEST(ToolManifest, IsRefusedAsAWholeIfAnythingIsWrong) {
    const std::string good = module_text("good.py");
    EXPECT_TRUE(refusal(good + "onwer = \"x\"\n").contains("unknown key \"onwer\""));
    EXPECT_TRUE(refusal(good + good).contains("good.py is listed twice"));
    EXPECT_TRUE(refusal(good + module_text("good/__init__.py")).contains("listed twice"));
    EXPECT_TRUE(refusal("[[modul]]\n").contains("unknown key \"modul\""));
    EXPECT_TRUE(refusal("module = 7\n").contains("unknown key"));
    EXPECT_TRUE(refusal("[[module]]\nfile = \"a.py\"\n").contains("sha256"));
    EXPECT_TRUE(refusal("not toml at all").contains("line 1"));
    EXPECT_TRUE(refusal(good + "principals = []\n").contains("list of names"));
    EXPECT_TRUE(refusal(good + "roles = \"all\"\n").contains("list of names"));
    EXPECT_TRUE(refusal(good + "needs = [\"network\"]\n").contains("needs"));
    EXPECT_TRUE(refusal(good + "needs = [1]\n").contains("needs"));
}

TEST(ToolManifest, PathsStayInTheDirectory) {
    for (const char* file : {"../a.py", "/etc/a.py", "a/../b.py", "", ".hidden.py", "a b.py",
                             "1a.py", "a-b.py", "d/.x/a.py", "a//b.py"}) {
        EXPECT_FALSE(is_servable_name(file)) << file;
        EXPECT_FALSE(refusal(module_text(file)).empty()) << file;
    }
    EXPECT_TRUE(is_servable_name("deep/part.py"));
    EXPECT_TRUE(is_servable_name("data/table-1.csv"));
}

TEST(ToolManifest, DigestsAreWhole) {
    for (const std::string& digest :
         {std::string(63, 'a'), std::string(64, 'g'), std::string(64, 'A'), std::string(65, 'a')}) {
        std::string text = module_text("a.py");
        text.replace(text.find(kDigest), kDigest.size(), digest);
        EXPECT_TRUE(refusal(text).contains("sha256")) << digest;
    }
}

TEST(ToolManifest, TooManyModulesAreRefused) {
    std::string text;
    for (std::size_t index = 0; index <= kMostModules; ++index) {
        text += module_text("m" + std::to_string(index) + ".py");
    }
    EXPECT_TRUE(refusal(text).contains("at most"));
}

TEST(ToolManifest, MayBeUsedByThoseItNames) {
    const Approval open{.file = "a.py"};
    EXPECT_TRUE(may_use(open, {}));
    const Approval closed{.file = "a.py", .principals = {"ada"}, .roles = {"analyst"}};
    EXPECT_FALSE(may_use(closed, {}));
    EXPECT_FALSE(may_use(closed, {.principal = "bob", .roles = {"other"}}));
    EXPECT_TRUE(may_use(closed, {.principal = "ada"}));
    EXPECT_TRUE(may_use(closed, {.principal = "bob", .roles = {"analyst"}}));
}

TEST(ToolManifest, AProfileChoosesSets) {
    const Approval module{.file = "a.py", .tool_sets = {"logs"}};
    EXPECT_TRUE(may_use(module, {.tool_sets = std::vector<std::string>{"logs", "x"}}));
    EXPECT_TRUE(may_use(module, {.tool_sets = std::vector<std::string>{"a"}}));
    EXPECT_FALSE(may_use(module, {.tool_sets = std::vector<std::string>{"x"}}));
    EXPECT_FALSE(may_use(module, {.tool_sets = std::vector<std::string>{}}));
    EXPECT_FALSE(may_use({.file = "b.py"}, {.tool_sets = std::vector<std::string>{"logs"}}));
}

}  // namespace
}  // namespace belljar::approved
