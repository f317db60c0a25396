#include "runner/runners.h"

#include <gtest/gtest.h>

#include <map>

namespace belljar::runner {
namespace {

ManifestPtr named(const std::string& language, std::vector<std::string> aliases = {}) {
    return std::make_shared<const Manifest>(
        Manifest{.language = language, .aliases = std::move(aliases)});
}

TEST(Runners, LoadsTheEmbeddedManifests) {
    const Runners runners = Runners::create().value();
    ASSERT_FALSE(runners.all().empty());
    EXPECT_EQ(runners.all().front()->language, "python") << "what must be there comes first";
    for (const ManifestPtr& manifest : runners.all()) {
        EXPECT_TRUE(!manifest->self_test.empty() || !manifest->version.empty());
        EXPECT_FALSE(manifest->detect.empty());
        for (const std::string& variable : manifest->environment) {
            EXPECT_NE(variable.find('='), std::string::npos) << variable;
        }
    }
    for (const std::string_view language :
         {"bash", "c", "c++", "go", "java", "lua", "perl", "php", "r", "ruby", "rust"}) {
        ASSERT_NE(runners.find(language), nullptr) << language;
        EXPECT_TRUE(runners.find(language)->has_launcher()) << language;
    }
}

TEST(Runners, FindsByNameAndAliasWithoutRegardToCase) {
    const Runners runners = Runners::create().value();
    const ManifestPtr python = runners.find("python");
    ASSERT_NE(python, nullptr);
    for (const std::string_view name : {"Python", "PYTHON", "py", "PY", "python3", "Python3"}) {
        EXPECT_EQ(runners.find(name), python) << name;
    }
    for (const std::string_view name :
         {"", " python", "python ", "pyth", "python4", "cpython", "cobol", "launcher"}) {
        EXPECT_EQ(runners.find(name), nullptr) << name;
    }
    EXPECT_EQ(runners.find(std::string_view("python\0", 7)), nullptr);
}

// find() compares with the lower-case form of what was asked.
TEST(Runners, ShippedNamesAreLowerCaseAndDistinct) {
    const Runners runners = Runners::create().value();
    std::map<std::string, int> seen;
    for (const ManifestPtr& manifest : runners.all()) {
        ++seen[manifest->language];
        for (const std::string& alias : manifest->aliases) {
            ++seen[alias];
        }
    }
    for (const auto& [name, count] : seen) {
        EXPECT_EQ(count, 1) << name;
        EXPECT_EQ(name.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), std::string::npos) << name;
    }
}

TEST(Runners, ALanguageIsAddedOrReplaced) {
    Runners runners = Runners::create().value();
    const std::size_t before = runners.all().size();
    const ManifestPtr awk = named("awk", {"mawk"});
    ASSERT_TRUE(runners.put(awk));
    EXPECT_EQ(runners.find("mawk"), awk);
    const ManifestPtr ruby = named("ruby", {"rb"});
    ASSERT_TRUE(runners.put(ruby));
    EXPECT_EQ(runners.find("rb"), ruby);
    EXPECT_EQ(runners.all().size(), before + 1);
}

TEST(Runners, NobodyTakesTheNameOfAnother) {
    Runners runners = Runners::create().value();
    for (const ManifestPtr& manifest :
         {named("py"), named("awk", {"ruby"}), named("awk", {"rb"})}) {
        const Result<void> added = runners.put(manifest);
        ASSERT_FALSE(added);
        EXPECT_EQ(added.error().code, ErrorCode::Conflict);
    }
    EXPECT_EQ(runners.find("py")->language, "python");
}

TEST(Runners, LanguagesOfOneKindShareTheirJars) {
    const Runners runners = Runners::create().value();
    const auto jar_of = [&](std::string_view name) { return runners.jar_of(runners.find(name)); };
    EXPECT_EQ(jar_of("python"), runners.find("python"));
    EXPECT_EQ(jar_of("bash"), jar_of("perl"));
    EXPECT_NE(jar_of("bash"), jar_of("java")) << "it needs other rights";
    EXPECT_EQ(jar_of("java")->write_execute, WriteExecute::Allowed);
    EXPECT_EQ(jar_of("bash")->write_execute, WriteExecute::Denied);
    EXPECT_TRUE(jar_of("bash")->has_launcher());
    const Runners copy = runners;
    EXPECT_EQ(copy.jar_of(runners.find("bash")), jar_of("bash"));
}

}  // namespace
}  // namespace belljar::runner
