#include "policy/reading.h"

#include <gtest/gtest.h>

#include "policy/rulebook.h"
#include "policy/validation.h"

namespace belljar::policy {
namespace {

using execution::ScanAction;

std::shared_ptr<const Rulebook> rules() { return Rulebook::create({}, {}).value(); }

Reading reading(std::string_view text) { return parse_reading(parse_json(text).value()); }

json::object answer(std::string_view told, const std::string& profile = "basic",
                    std::string code = "import os\nos.system('rm -rf /')") {
    const auto book = rules();
    return validate({.code = std::move(code),
                     .language = "python",
                     .profile = *book->find(profile),
                     .usual_profile = "standard"},
                    reading(told));
}

TEST(Reading, TakesWhatHasTheRightFormAndLeavesTheRest) {
    const Reading found = reading(R"({
        "imports": [{"line": 1, "text": "os"}, 3, {"line": -5}],
        "findings": [{"rule": "code.eval", "line": 2, "subject": "eval"}, {"rule": "no.such"}, []],
        "functions": ["f", 1], "branches": -3, "classes": "x"})");
    ASSERT_EQ(found.imports.size(), 2U);
    EXPECT_EQ(found.imports[1].line, 0);
    ASSERT_EQ(found.suspicions.size(), 1U);
    EXPECT_EQ(found.suspicions[0].rule->name, "code.eval");
    EXPECT_EQ(found.functions, std::vector<std::string>{"f"});
    EXPECT_EQ(found.branches, 0);
    EXPECT_FALSE(parse_reading(json::value(nullptr)).whole);
}

TEST(Reading, WhatOnlyWarnsStopsNothing) {
    const auto book = rules();
    const execution::ReadingOrder order = reading_order(**book->find("basic"), false);
    EXPECT_TRUE(order.stops.empty());
    EXPECT_EQ(order.builtins, (*book->find("basic"))->warn_builtins);
}

TEST(Reading, FindingsAreJudgedByTheProfile) {
    const auto book = rules();
    const Reading found = reading(R"({"findings": [
        {"rule": "process.environment", "line": 4, "subject": "os.environ"},
        {"rule": "code.eval", "line": 2, "subject": "eval"},
        {"rule": "code.eval", "line": 2, "subject": "exec"},
        {"rule": "code.builtin", "line": 9, "subject": "len"},
        {"rule": "code.builtin", "line": 9, "subject": "breakpoint"}]})");
    const std::vector<execution::Finding> findings = judge(**book->find("basic"), found);
    ASSERT_EQ(findings.size(), 3U);
    EXPECT_EQ(findings[0].text, "Call of 'eval' hides what the program does");
    EXPECT_EQ(findings[0].action, ScanAction::Warn);
    EXPECT_EQ(findings[1].rule, "code.builtin");
    EXPECT_EQ(findings[2].action, ScanAction::Note);
    EXPECT_EQ(in_words(findings[0]), "Line 2: Call of 'eval' hides what the program does");
}

TEST(Reading, WhatCannotBeReadIsAFinding) {
    const auto book = rules();
    const auto findings = judge(**book->find("basic"), unreadable("too large"));
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].rule, "code.unreadable");
}

TEST(Validation, SaysWhatTheDocumentShows) {
    const json::object told = answer(R"({"imports": [{"line": 1, "text": "os"}],
        "findings": [{"rule": "process.spawn", "line": 2, "subject": "os.system"}]})");
    EXPECT_EQ(told.at("validation"),
              parse_json(R"({"valid": false, "errors": ["Line 1: Import 'os' is not allowed"],
                             "message": "Code contains restricted operations"})")
                  .value());
    EXPECT_EQ(told.at("analysis").at("line_count"), 2);
    EXPECT_EQ(told.at("warnings").as_array().size(), 1U);
    EXPECT_EQ(told.at("recommendations").as_array()[0],
              "Some operations may be restricted in sandbox environment");
}

TEST(Validation, UnderStandardImportsAreNobodysMatter) {
    const json::object told = answer(R"({"imports": [{"line": 1, "text": "os"}]})", "standard");
    EXPECT_EQ(told.at("validation").at("valid"), true);
    EXPECT_EQ(told.at("validation").at("message"), "Code passed validation");
}

TEST(Validation, AProblemIsTheOnlyError) {
    const json::object told = answer(R"({"problem": {"line": 3, "text": "invalid syntax"}})");
    EXPECT_EQ(told.at("validation").at("errors"), json::array{"Line 3: invalid syntax"});
    EXPECT_EQ(told.at("validation").at("message"), "Syntax error");
}

TEST(ScanRules, AreFoundByTheirNames) {
    for (const ScanRule& rule : scan_rules()) {
        EXPECT_EQ(find_scan_rule(rule.name), &rule);
        EXPECT_FALSE(describe(rule, "x").contains("{}"));
    }
    EXPECT_EQ(find_scan_rule("none"), nullptr);
}

}  // namespace
}  // namespace belljar::policy
