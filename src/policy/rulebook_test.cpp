#include "policy/rulebook.h"

#include <gtest/gtest.h>

#include "policy/decision.h"
#include "policy/narrower.h"

namespace belljar::policy {
namespace {

Rulebook::Grounds grounds() { return {.maximum = policy_from(config::LimitSettings{}).maximum}; }

Result<std::shared_ptr<const Rulebook>> read(const std::string& text) {
    return Rulebook::create(grounds(), {{.name = "policy.toml", .text = text}});
}

std::string problem(const std::string& text) {
    const auto book = read(text);
    return book ? "" : book.error().message;
}

constexpr std::string_view kTeam = R"(
version = 1
[profiles.team]
description = "What the team may do"
extends = "basic"
languages = ["python"]
isolation = "standard"
tool_sets = ["logs"]
[profiles.team.imports]
python_add = ["os.path", "decimal"]
python_remove = ["random"]
[profiles.team.limits]
timeout = "10s"
memory = "128m"
cpu = 0.25
processes = 8
output = "64k"
[profiles.team.scan]
high = "ask"
critical = "refuse"
[profiles.team.scan.rules]
"code.eval" = "refuse"
[profiles.team.privacy]
mask = ["email", "phone"]
[profiles.intern]
extends = "team"
[profiles.intern.limits]
timeout = "5s"
[principals."alice"]
profile = "team"
[tool_sets.logs]
profile = "intern"
)";

std::shared_ptr<const Rulebook> team() { return read(std::string(kTeam)).value(); }

TEST(Rulebook, HasTheProfilesOfEveryInstallation) {
    const auto book = Rulebook::create(grounds(), {}).value();
    EXPECT_EQ(book->default_profile(), "standard");
    for (const auto* name : {"standard", "basic", "data_science", "network", "filesystem"}) {
        EXPECT_TRUE(book->find(name).has_value()) << name;
    }
    EXPECT_EQ(book->find("none").error().message,
              "\"profile\": there is no such profile; the profiles are basic, data_science, "
              "filesystem, network, standard");
    EXPECT_FALSE(controls_imports(**book->find("standard")));
    EXPECT_FALSE(scans(**book->find("standard")));
    EXPECT_TRUE(scans(**book->find("basic")));
}

TEST(Rulebook, BuiltInModulesAreThoseOfTheDocuments) {
    const auto book = Rulebook::create(grounds(), {}).value();
    const Profile& basic = **book->find("basic");
    for (const auto* name : {"math", "xml.etree.ElementTree", "urllib.parse", "html.parser"}) {
        EXPECT_TRUE(allows_python(basic, name)) << name;
    }
    for (const auto* name : {"os", "os.path", "urllib", "urllib.request", "mathematics", "xml"}) {
        EXPECT_FALSE(allows_python(basic, name)) << name;
    }
    EXPECT_TRUE(allows_python(**book->find("data_science"), "numpy.linalg"));
    EXPECT_TRUE(allows_python(**book->find("filesystem"), "os.path"));
    EXPECT_TRUE(allows_python(**book->find("network"), "urllib.request"));
    EXPECT_TRUE(allows_javascript(basic, "node:path"));
    EXPECT_TRUE(allows_javascript(basic, "./mine.mjs"));
    EXPECT_TRUE(allows_javascript(basic, "/servers/drive/index.ts"));
    EXPECT_FALSE(allows_javascript(basic, "/servers/../etc/x.js"));
    EXPECT_FALSE(allows_javascript(basic, "fs"));
    EXPECT_TRUE(allows_javascript(**book->find("filesystem"), "node:fs/promises"));
}

TEST(Rulebook, AProfileTakesOverWhatItExtends) {
    const auto book = team();
    const Profile& intern = **book->find("intern");
    EXPECT_TRUE(allows_python(intern, "os.path"));
    EXPECT_TRUE(allows_python(intern, "math"));
    EXPECT_FALSE(allows_python(intern, "random"));
    EXPECT_EQ(intern.limits.timeout, std::chrono::seconds(5));
    EXPECT_EQ(intern.limits.memory, mebibytes(128));
    EXPECT_EQ(intern.languages, Names({"python"}));
    EXPECT_EQ(intern.privacy.mask, (std::vector<std::string>{"email", "phone"}));
    EXPECT_EQ(action_for(intern, "code.eval", execution::Severity::Medium),
              execution::ScanAction::Refuse);
    EXPECT_EQ(action_for(intern, "process.spawn", execution::Severity::High),
              execution::ScanAction::Ask);
    EXPECT_TRUE(may_ask(intern));
}

TEST(Rulebook, TheVersionIsThatOfTheRulesAndNotOfTheText) {
    const std::string text(kTeam);
    EXPECT_EQ(read(text).value()->version(), read(text + "\n# a remark\n").value()->version());
    EXPECT_NE(read(text).value()->version(),
              read(text + "\n[principals.bob]\nprofile = \"basic\"\n").value()->version());
    EXPECT_EQ(team()->version().size(), 64U);
}

TEST(Rulebook, SaysWhichProfileACallerHas) {
    const auto book = team();
    const auto name = [&book](const Rulebook::Caller& caller) {
        return (*book->profile_of(caller))->name;
    };
    EXPECT_EQ(name({.principal = "alice", .profile = "basic", .tool_sets = {"logs"}}), "team");
    EXPECT_EQ(name({.principal = "bob", .profile = "basic", .tool_sets = {"logs"}}), "basic");
    EXPECT_EQ(name({.principal = "bob", .tool_sets = {"other", "logs"}}), "intern");
    EXPECT_EQ(name({.principal = "bob"}), "standard");
    const auto gone = book->profile_of({.principal = "bob", .profile = "gone"});
    ASSERT_FALSE(gone.has_value());
    EXPECT_EQ(gone.error().code, ErrorCode::Denied);
}

TEST(Rulebook, ACallMayOnlyNarrow) {
    const auto book = team();
    const Rulebook::Caller alice{.principal = "alice"};
    EXPECT_EQ((*book->choose(alice, std::nullopt))->name, "team");
    EXPECT_EQ((*book->choose(alice, "intern"))->name, "intern");
    const auto wider = book->choose(alice, "standard");
    ASSERT_FALSE(wider.has_value());
    EXPECT_EQ(wider.error().code, ErrorCode::Denied);
    EXPECT_EQ(wider.error().message,
              "\"profile\": standard is not narrower than team, which is yours: it allows "
              "importing every module of Python; you may ask for intern, team");
    EXPECT_EQ(book->choose(alice, "basic").error().message,
              "\"profile\": basic is not narrower than team, which is yours: it allows importing "
              "random; you may ask for intern, team");
    EXPECT_EQ((*book->choose({.principal = "bob"}, "team"))->name, "team");
}

TEST(Rulebook, ToolSetsWithoutANarrowestProfileAreRefused) {
    const auto book = read(
                          "[profiles.a]\nextends=\"data_science\"\n[profiles.b]\n"
                          "extends=\"filesystem\"\n[tool_sets.x]\nprofile=\"a\"\n[tool_sets.y]\n"
                          "profile=\"b\"")
                          .value();
    EXPECT_EQ((*book->profile_of({.tool_sets = {"x"}}))->name, "a");
    EXPECT_FALSE(book->profile_of({.tool_sets = {"x", "y"}}).has_value());
}

TEST(Narrower, EachRespectCounts) {
    const Profile wide{.name = "wide", .network = Network::Allowed};
    Profile narrow = wide;
    EXPECT_FALSE(why_wider(wide, narrow));
    const auto differs = [&](auto change, std::string_view reason) {
        narrow = wide;
        change(narrow);
        EXPECT_FALSE(why_wider(narrow, wide)) << reason;
        EXPECT_EQ(why_wider(wide, narrow).value_or("nothing"), reason);
    };
    differs([](Profile& p) { p.python = {.reach = Imports::Reach::Listed}; },
            "it allows importing every module of Python");
    differs([](Profile& p) { p.languages = Names({"python"}); }, "it allows every language");
    differs([](Profile& p) { p.network = Network::Denied; }, "it allows a network");
    differs([](Profile& p) { p.limits.memory = mebibytes(64); }, "its limit memory is higher");
    differs([](Profile& p) { p.tool_sets = Names({"logs"}); }, "it allows every tool set");
    differs([](Profile& p) { p.isolation = config::IsolationFloor::Full; },
            "it takes less than full isolation");
    differs([](Profile& p) { p.scan.by_rule["code.eval"] = execution::ScanAction::Warn; },
            "it answers findings of code.eval less strictly");
    differs([](Profile& p) { p.privacy.mask = {"email"}; }, "it does not mask email");
}

TEST(Rulebook, SwitchesOfTheConfigurationSelect) {
    const auto selected = [](config::PolicySettings settings) {
        const auto book =
            Rulebook::create({.maximum = grounds().maximum, .settings = settings}, {});
        return book ? (*book)->default_profile() : book.error().message;
    };
    using config::Switch;
    EXPECT_EQ(selected({}), "standard");
    EXPECT_EQ(selected({.data_science = Switch::On}), "data_science");
    EXPECT_EQ(selected({.network = Switch::On, .filesystem = Switch::On}), "network+filesystem");
    EXPECT_EQ(selected({.allowed_imports = {"math"}}), "allowed_imports");
    EXPECT_EQ(selected({.profile = "basic", .network = Switch::On}), "basic");
    EXPECT_EQ(selected({.profile = "bsic"}),
              "policy.profile: there is no profile \"bsic\"; did you mean \"basic\"?; the profiles "
              "are basic, data_science, filesystem, network, standard");
    const config::PolicySettings both{.network = Switch::On, .filesystem = Switch::On};
    const auto book =
        Rulebook::create({.maximum = grounds().maximum, .settings = both}, {}).value();
    const Profile& profile = **book->find(book->default_profile());
    EXPECT_TRUE(allows_python(profile, "pathlib") && allows_python(profile, "requests"));
    EXPECT_FALSE(allows_python(profile, "os"));
}

struct Mistake {
    std::string_view text;
    std::string_view said;
};

class PolicyMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(PolicyMistakes, AreToldWithPlaceAndWhatIsAllowed) {
    EXPECT_TRUE(problem(std::string(GetParam().text)).contains(GetParam().said))
        << problem(std::string(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    All, PolicyMistakes,
    testing::Values(
        Mistake{"[profiles.a]\n[profiles.a.limits]\ntimout = \"1s\"",
                "policy.toml:3: \"profiles.a.limits.timout\" is no key; did you mean \"timeout\"?"},
        Mistake{"[profile.a]", "policy.toml:1: \"profile\" is no key; did you mean \"profiles\"?"},
        Mistake{"[profiles.a]\nextends = \"basik\"",
                "policy.toml:2: \"profiles.a.extends\": there is no profile \"basik\"; did you "
                "mean \"basic\"?"},
        Mistake{"[profiles.a]\nextends=\"b\"\n[profiles.b]\nextends=\"a\"",
                "profiles that extend each other in a circle: a -> b -> a"},
        Mistake{"[profiles.a]\nextends=\"a\"", "in a circle: a -> a"},
        Mistake{"[principals.x]\nprofile=\"none\"", "policy.toml:1: there is no profile \"none\""},
        Mistake{"[principals.x]", "\"principals.x.profile\" is missing: the name of a profile"},
        Mistake{"default_profile = \"none\"", "policy.toml:1: there is no profile \"none\""},
        Mistake{"[profiles.basic]", "\"basic\" is a profile that every installation has"},
        Mistake{"[profiles.a]\nlanguages = \"python\"",
                "policy.toml:2: \"profiles.a.languages\" must be a list of names"},
        Mistake{"[profiles.a]\nnetwork = true", "\"profiles.a.network\" must be a text in quotes"},
        Mistake{"[profiles.a]\nnetwork = \"yes\"", "must be allow or deny, not \"yes\""},
        Mistake{"[profiles.a]\nnetwork = \"allow\"",
                "the operator allows none; policy.network is false"},
        Mistake{"[profiles.a.limits]\ntimeout = \"10m\"",
                "10m is more than the operator allows, which is 5m"},
        Mistake{"[profiles.a.limits]\nmemory = \"1m\"", "less than 16m cannot hold an interpreter"},
        Mistake{"[profiles.a.limits]\nprocesses = 1.5", "must be a whole number"},
        Mistake{"[profiles.a.limits]\ncpu = -1", "must be a number greater than 0"},
        Mistake{"[profiles.a.scan]\nhigh = \"stop\"",
                "must be note, warn, ask or refuse, not \"stop\""},
        Mistake{"[profiles.a.scan.rules]\n\"code.evil\" = \"refuse\"",
                "is no key; did you mean \"code.eval\"?"},
        Mistake{"[profiles.a.privacy]\nmask = [\"emails\"]", "must be a list of types"},
        Mistake{"[profiles.a.imports]\npython = [\"..\"]", "must be a list of module names"},
        Mistake{"[profiles.a]\nisolation = \"none\"", "must be full, standard or basic"},
        Mistake{"profiles = 3", "\"profiles\" must be a table"},
        Mistake{"[profiles]\na = 3", "\"profiles.a\" must be a table"},
        Mistake{"version = 2", "\"version\" must be 1"}, Mistake{"[profiles.a", "policy.toml:1:"},
        Mistake{"a = \xff\xfe", "is not UTF-8"},
        Mistake{"[profiles.\"a b\"]", "must have a name of letters"}));

TEST(PolicyFile, ThatIsHugeIsRefused) {
    EXPECT_EQ(problem(std::string(2U << 20U, '#')), "policy.toml: the file is larger than 1m");
}

TEST(PolicyFile, TwoFilesMayNotSayTheSame) {
    const auto book = Rulebook::create(grounds(), {{.name = "a.toml", .text = "[profiles.x]"},
                                                   {.name = "b.toml", .text = "[profiles.x]"}});
    ASSERT_FALSE(book.has_value());
    EXPECT_EQ(book.error().message, "b.toml:1: \"x\" is defined at a.toml:1 already");
}

}  // namespace
}  // namespace belljar::policy
