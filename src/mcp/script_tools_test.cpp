#include <fmt/format.h>
#include <gtest/gtest.h>

#include "mcp/testing/fake_conversations.h"
#include "mcp/testing/fake_executor.h"
#include "mcp/testing/run_task.h"
#include "mcp/testing/schema_check.h"
#include "mcp/tool_table.h"
#include "mcp/toolbox.h"

namespace belljar::mcp {
namespace {

constexpr std::string_view kTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

// Tools that run a program of ours and read its answer, which is not to be trusted.
class ScriptTools : public testing::Test {
   protected:
    ToolOutcome call(const std::string& name, std::string_view arguments) {
        Toolbox toolbox(executor);
        const RpcResult<ToolOutcome> outcome =
            run_task(toolbox.call({.name = name,
                                   .arguments = parse_json(arguments).value().as_object(),
                                   .principal = "ada",
                                   .trace = access::parse_trace(kTrace, ""),
                                   .origin = {.client = "inspector/2",
                                              .address = "127.0.0.9",
                                              .tool_sets = {"analysts"}}},
                                  std::make_shared<engine::Cancellation>()));
        const json::object schema = find_tool(name)->define(executor.sandbox).output_schema;
        if (outcome->structured) {
            EXPECT_EQ(schema_fault(*outcome->structured, schema), "");
        }
        return *outcome;
    }

    ToolOutcome validate(std::string answer) {
        executor.result.result_json = std::move(answer);
        return call("validate_code", R"({"code":"import os"})");
    }

    class Executor : public FakeExecutor {
       public:
        [[nodiscard]] engine::Conversations& conversations() override { return files; }
        FakeConversations files;
    };

    Executor executor;
};

TEST_F(ScriptTools, TheProgramIsDataForTheReader) {
    const ToolOutcome outcome = validate(R"({"imports":[{"line":1,"text":"os"}],"branches":1})");
    EXPECT_EQ(to_text(outcome.structured->at("validation")),
              R"({"valid":false,"errors":["Line 1: Import 'os' is not allowed"],)"
              R"("message":"Code contains restricted operations"})");
    ASSERT_EQ(executor.requests.size(), 1U);
    EXPECT_EQ(executor.requests[0].code.find("import os\n"), std::string::npos);
    EXPECT_EQ(executor.requests[0].stdin_text, R"({"code":"import os","language":"python"})");
    EXPECT_EQ(executor.requests[0].principal, "ada");
    EXPECT_FALSE(executor.requests[0].conversation_id);
}

TEST_F(ScriptTools, AnAnswerOfAnyShapeIsSurvived) {
    for (const char* answer :
         {"null", "[]", "5", R"({"imports":5})", R"({"imports":[5,{"line":"x","text":[]}]})",
          R"({"problem":{"line":-5}})", R"({"functions":[1,null,{}],"branches":-1})",
          R"({"warnings":[{"line":1e300}]})"}) {
        EXPECT_TRUE(validate(answer).structured) << answer;
    }
}

TEST_F(ScriptTools, ALongAnswerIsCut) {
    std::string imports;
    for (int number = 0; number < 500; ++number) {
        imports += std::string(number == 0 ? "" : ",") + R"({"line":1,"text":")" +
                   std::string(2000, 'x') + R"("})";
    }
    const ToolOutcome outcome = validate(R"({"imports":[)" + imports + "]}");
    const json::array& errors = outcome.structured->at("validation").at("errors").as_array();
    EXPECT_EQ(errors.size(), 100U);
    EXPECT_LT(errors[0].as_string().size(), 600U);
}

TEST_F(ScriptTools, AReaderThatFailsFindsAProgramWrong) {
    executor.result.status = execution::Status::Memory;
    const ToolOutcome outcome = validate("{}");
    EXPECT_EQ(outcome.structured->at("validation").at("valid"), json::value(false));
}

TEST_F(ScriptTools, ScriptsBringTheirParsers) {
    executor.sandbox.runners = {{.language = "typescript", .aliases = {"ts"}}};
    executor.result.result_json = "{}";
    call("validate_code", R"({"code":"1","language":"ts"})");
    ASSERT_EQ(executor.requests.size(), 1U);
    EXPECT_EQ(executor.requests[0].language, "javascript");
    EXPECT_EQ(executor.requests[0].files.size(), 2U);
}

TEST_F(ScriptTools, PackagesOfAnyShape) {
    for (const char* answer : {"null", R"({"packages":5})", R"({"packages":[5,{"name":5}]})"}) {
        executor.result.result_json = answer;
        EXPECT_TRUE(call("pip_install", R"({"package":"x"})").failed) << answer;
    }
    executor.result.result_json = R"({"version":"1.0","packages":[{"name":"x","version":"1.0"}]})";
    EXPECT_FALSE(call("pip_install", R"({"package":"x"})").failed);
    EXPECT_FALSE(call("pip_install", R"({"package":"x","version":"1.0"})").failed);
    EXPECT_TRUE(call("pip_install", R"({"package":"x","version":"2.0"})").failed);
}

TEST_F(ScriptTools, ACatalogueOfAnyShape) {
    for (const char* answer : {"null", "{}", R"([5,{"module":5}])"}) {
        executor.result.result_json = answer;
        EXPECT_FALSE(call("search_tools", R"({"query":"execute"})").failed) << answer;
    }
}

TEST_F(ScriptTools, AModuleIsCalledWithWhatIsLeftOfTheArguments) {
    executor.result.result_json = R"({"value":"text"})";
    const ToolOutcome outcome = call("privacy", R"({"function":"scrub_ssn","text":"x"})");
    EXPECT_EQ(outcome.text, "text");
    EXPECT_EQ(executor.requests.at(0).stdin_text,
              R"({"module":"privacy","function":"scrub_ssn","arguments":{"text":"x"}})");
    EXPECT_FALSE(executor.requests.at(0).conversation_id);
    call("list_skills", "{}");
    EXPECT_EQ(executor.requests.at(1).conversation_id, "log-analysis");
}

// What policy and the audit trail are told of it is what they are told of execute_code.
TEST_F(ScriptTools, AProgramOfOursRunsInTheNameOfItsCaller) {
    executor.result.result_json = "{}";
    call("search_tools", R"({"query":"x"})");
    call("pip_install", R"({"package":"x"})");
    call("workspace", "{}");
    call("validate_code", R"({"code":"1"})");
    call("execute_code", R"({"code":"1"})");
    ASSERT_EQ(executor.requests.size(), 5U);
    const execution::RunRequest& known = executor.requests.back();
    EXPECT_EQ(known.tool_sets, std::vector<std::string>{"analysts"});
    for (const execution::RunRequest& request : executor.requests) {
        EXPECT_EQ(request.tool_sets, known.tool_sets) << request.tool;
        EXPECT_EQ(request.principal, known.principal);
        EXPECT_EQ(request.client, known.client);
        EXPECT_EQ(request.address, known.address);
        EXPECT_EQ(request.trace, known.trace);
        EXPECT_EQ(request.protocol, known.protocol);
    }
    EXPECT_EQ(executor.requests[0].tool, "search_tools");
    EXPECT_EQ(executor.requests[2].tool, "workspace");
}

TEST_F(ScriptTools, ASkillIsItsCallersProgram) {
    const std::string path = "skills/a-1/implementation.py";
    executor.files.files[{"c", path}] = "import os";
    executor.files.files[{"log-analysis", path}] = "import re";
    executor.result.result_json = R"({"value":1})";
    call("run_skill", R"({"name":"a-1","function":"f","x":1,"conversation_id":"c"})");
    call("skills", R"({"function":"run_skill","name":"a-1"})");
    ASSERT_EQ(executor.requests.size(), 2U);
    EXPECT_EQ(executor.requests[0].stdin_text, R"({"name":"a-1","function":"f","x":1})");
    EXPECT_EQ(executor.requests[0].conversation_id, "c");
    EXPECT_EQ(executor.requests[0].files.at(path), "import os");
    EXPECT_EQ(executor.requests[1].files.at(path), "import re");
    for (const execution::RunRequest& run : executor.requests) {
        EXPECT_EQ(run.author, execution::Author::Caller);
    }
    EXPECT_NE(executor.requests[0].code, executor.requests[1].code)
        << "who approves one skill has not approved another";
}

TEST_F(ScriptTools, WhatIsNoSkillIsNotRun) {
    executor.files.files[{"log-analysis", "skills/long/implementation.py"}] =
        std::string(70'000, '#');
    executor.result.result_json = R"({"error":"There is no skill"})";
    EXPECT_TRUE(call("run_skill", R"({"name":"long"})").failed);
    EXPECT_TRUE(executor.requests.empty());
    for (const char* name : {"none", "../a", "a/b", "a b"}) {
        EXPECT_TRUE(call("run_skill", fmt::format(R"({{"name":"{}"}})", name)).failed) << name;
        EXPECT_EQ(executor.requests.back().author, execution::Author::Belljar);
        EXPECT_EQ(executor.requests.back().stdin_text,
                  fmt::format(R"({{"module":"skills","function":"get_skill",)"
                              R"("arguments":{{"name":"{}"}}}})",
                              name));
    }
}

TEST_F(ScriptTools, WhatAModuleReturnsHasAnEnd) {
    executor.result.result_json = "{\"value\":\"" + std::string(150'000, 'x') + "\"}";
    const ToolOutcome outcome = call("privacy", R"({"text":"x"})");
    EXPECT_LT(outcome.text.size(), 100'100U);
    EXPECT_EQ(outcome.structured->at("truncated"), json::value(true));
    executor.result.result_json = std::nullopt;
    EXPECT_TRUE(call("privacy", R"({"text":"x"})").failed);
    executor.result.result_json = R"({"error":"ValueError: no"})";
    EXPECT_EQ(call("privacy", R"({"text":"x"})").text, "Error: ValueError: no");
}

}  // namespace
}  // namespace belljar::mcp
