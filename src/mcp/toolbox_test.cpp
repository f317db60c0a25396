#include "mcp/toolbox.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "mcp/testing/fake_executor.h"
#include "mcp/testing/run_task.h"
#include "mcp/testing/schema_check.h"
#include "mcp/tool_table.h"

namespace belljar::mcp {
namespace {

class ToolboxTest : public testing::Test {
   protected:
    RpcResult<ToolOutcome> call(std::string name, std::string_view arguments) {
        return run_task(toolbox.call({.name = std::move(name),
                                      .arguments = parse_json(arguments).value().as_object(),
                                      .principal = "ada"},
                                     std::make_shared<engine::Cancellation>()));
    }

    ToolOutcome outcome(std::string name, std::string_view arguments) {
        return call(std::move(name), arguments).value();
    }

    json::object output_schema(std::string_view name) {
        const ToolList list = toolbox.list();
        return std::ranges::find(list.tools, name, &ToolDefinition::name)->output_schema;
    }

    FakeExecutor executor;
    Toolbox toolbox{executor};
};

TEST_F(ToolboxTest, EveryToolIsFullyDescribed) {
    for (const Tool& entry : all_tools()) {
        const ToolDefinition tool = entry.define(executor.sandbox);
        EXPECT_EQ(tool.name, entry.name);
        EXPECT_LE(tool.name.size(), 64U);
        EXPECT_EQ(tool.name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                              "0123456789_.-"),
                  std::string::npos);
        EXPECT_FALSE(tool.title.empty());
        EXPECT_EQ(tool.annotations.at("title"), json::value(tool.title));
        EXPECT_TRUE(tool.icon.starts_with("data:image/svg+xml;base64,"));
        EXPECT_LT(tool.icon.size(), 400U);
        EXPECT_NE(tool.description.find("Example: {"), std::string::npos);
        EXPECT_EQ(tool.input_schema.at("type"), json::value("object"));
        EXPECT_EQ(tool.input_schema.at("additionalProperties"),
                  json::value(tool.name == "run_skill"))
            << tool.name;                                // which hands on what its skill takes
        if (tool.name != "log_analysis.execute_code") {  // whose clients read its text
            EXPECT_EQ(tool.output_schema.at("type"), json::value("object"));
        }
        EXPECT_EQ(to_text(tool.input_schema).find("x-mcp-header"), std::string::npos);
        for (const char* hint :
             {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}) {
            EXPECT_TRUE(tool.annotations.contains(hint)) << hint;
        }
    }
}

TEST_F(ToolboxTest, DescriptionsNameThisInstallation) {
    const ToolDefinition tool = toolbox.list().tools.front();
    EXPECT_NE(tool.description.find("Languages: python, bash."), std::string::npos);
    EXPECT_NE(to_text(tool.input_schema).find("30 by default, at most 300"), std::string::npos);
}

TEST_F(ToolboxTest, RunsCode) {
    const ToolOutcome run = outcome("execute_code", R"({"code":"x = 1","timeout":5})");
    EXPECT_FALSE(run.failed);
    EXPECT_EQ(run.text, "hello\n");
    ASSERT_EQ(executor.requests.size(), 1U);
    EXPECT_EQ(executor.requests[0].code, "x = 1");
    EXPECT_EQ(executor.requests[0].principal, "ada");
    EXPECT_EQ(executor.requests[0].timeout, std::chrono::seconds(5));
    ASSERT_TRUE(run.structured);
    EXPECT_EQ(schema_fault(*run.structured, output_schema("execute_code")), "");
}

TEST_F(ToolboxTest, RunsABatch) {
    executor.result.capped = {{.argument = "timeout", .asked = "600", .given = "300"}};
    const ToolOutcome run =
        outcome("execute_batch",
                R"({"runs":[{"code":"1"},{"code":2},{"code":"3"}],"stop_on_error":false})");
    EXPECT_TRUE(run.failed);
    EXPECT_EQ(run.text,
              "[1 of 3: ok]\nhello\n[capped] timeout: 600 asked, 300 given.\n"
              "[2 of 3: refused]\n\"code\" must be a string, not an integer\n"
              "[3 of 3: ok]\nhello\n[capped] timeout: 600 asked, 300 given.");
    ASSERT_EQ(executor.requests.size(), 2U);
    EXPECT_EQ(executor.requests[1].principal, "ada");
    ASSERT_TRUE(run.structured);
    EXPECT_EQ(schema_fault(*run.structured, output_schema("execute_batch")), "");
}

TEST_F(ToolboxTest, AFullRecordSatisfiesTheOutputSchema) {
    executor.result.status = execution::Status::Memory;
    executor.result.exit_code = std::nullopt;
    executor.result.signal = 9;
    executor.result.conversation_id = "c";
    executor.result.session_id = "s";
    executor.result.full_output = "u";
    executor.result.result_json = R"({"a":[1]})";
    executor.result.result_repr = "r";
    executor.result.variables = {"x"};
    executor.result.outputs = {{.bundle = {{"text/html", R"("<p>")"}}}};
    executor.result.files = {{.name = "f", .size = 1}};
    executor.result.error = {.type = "E", .message = "m", .line = 1, .traceback = "t"};
    executor.result.denials = {{.what = "w", .rule = "r", .hint = "h"},
                               {.what = "w", .source = execution::DenialSource::Kernel},
                               {.what = "w", .source = execution::DenialSource::Guest}};
    executor.result.isolation.missing = {"landlock"};
    const ToolOutcome run = outcome("execute_code", R"({"code":""})");
    EXPECT_TRUE(run.failed);
    const json::object schema = output_schema("execute_code");
    EXPECT_EQ(schema_fault(*run.structured, schema), "");
    for (const auto& [name, value] : *run.structured) {
        EXPECT_TRUE(schema.at("properties").as_object().contains(name)) << name;
    }
}

TEST_F(ToolboxTest, BadArgumentsAreForTheModel) {
    for (const std::string_view arguments :
         {R"({})", R"({"code":1})", R"({"code":"a\u0000b"})", R"({"code":"","timeout":"x"})",
          R"({"code":"","timeout":-1})", R"({"code":"","unknown":1})"}) {
        const ToolOutcome run = outcome("execute_code", arguments);
        EXPECT_TRUE(run.failed) << arguments;
        EXPECT_FALSE(run.text.empty()) << arguments;
        EXPECT_FALSE(run.structured) << arguments;
    }
    EXPECT_TRUE(executor.requests.empty());
}

TEST_F(ToolboxTest, RefusalsAreForTheModel) {
    for (const ErrorCode code :
         {ErrorCode::InvalidArgument, ErrorCode::Unsupported, ErrorCode::TooLarge,
          ErrorCode::Denied, ErrorCode::Overloaded, ErrorCode::Unavailable, ErrorCode::Cancelled}) {
        executor.error = Error{.code = code, .message = "because"};
        const ToolOutcome run = outcome("execute_code", R"({"code":""})");
        EXPECT_TRUE(run.failed);
        EXPECT_EQ(run.text, "because");
    }
}

TEST_F(ToolboxTest, ARefusalTellsWhenToTryAgain) {
    executor.error = Error{.code = ErrorCode::Overloaded,
                           .message = "full; try again in 7 s",
                           .retry_after = std::chrono::seconds(7)};
    const ToolOutcome run = outcome("execute_code", R"({"code":""})");
    EXPECT_TRUE(run.failed);
    EXPECT_EQ(run.text, "full; try again in 7 s");
    EXPECT_EQ(run.retry_after, std::chrono::seconds(7));
}

TEST_F(ToolboxTest, OurOwnFaultsAreErrorsWithoutDetail) {
    for (const ErrorCode code : {ErrorCode::Internal, ErrorCode::SystemCall}) {
        executor.error = Error{.code = code, .message = "/secret/path"};
        const RpcResult<ToolOutcome> answer = call("execute_code", R"({"code":""})");
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().code, RpcCode::InternalError);
        EXPECT_EQ(answer.error().message.find("secret"), std::string::npos);
    }
}

TEST_F(ToolboxTest, UnknownToolsNameTheKnownOnes) {
    const RpcResult<ToolOutcome> answer = call(std::string(1000, 'x'), "{}");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, RpcCode::InvalidParams);
    EXPECT_LT(answer.error().message.size(), 400U);
    EXPECT_NE(answer.error().message.find("the tools are execute_code, execute_batch, "),
              std::string::npos);
}

TEST_F(ToolboxTest, DialectsAreListedIfTheyAreNamed) {
    const auto names = [this](std::vector<std::string> dialects) {
        std::vector<std::string> listed;
        for (const ToolDefinition& tool :
             Toolbox(executor, parse_dialects(dialects)).list().tools) {
            listed.push_back(tool.name);
        }
        return listed;
    };
    const std::vector<std::string> own = names({});
    EXPECT_EQ(own.size(), 10U);
    EXPECT_EQ(std::ranges::find(own, "run_code"), own.end());
    EXPECT_EQ(names({"sandbox-service"}).back(), "execute_python");
    EXPECT_EQ(names({"code-runner"}).size(), own.size() + 5);
    EXPECT_EQ(names({"code-runner", "sandbox-service", "log-analysis"}).size(), all_tools().size());
}

TEST_F(ToolboxTest, EveryToolSaysWhatItNeeds) {
    EXPECT_EQ(Toolbox::need_of("execute_code"), Need::RunOrCell);
    EXPECT_EQ(Toolbox::need_of("execute_python"), Need::Run);
    EXPECT_EQ(Toolbox::need_of("write_file"), Need::FilesWrite);
    EXPECT_EQ(Toolbox::need_of("read_file"), Need::FilesRead);
    EXPECT_EQ(Toolbox::need_of("get_sandbox_info"), Need::Inspect);
    EXPECT_EQ(Toolbox::need_of("nonsense"), std::nullopt);
}

TEST_F(ToolboxTest, PartsOfASecondAreATime) {
    executor.result.status = execution::Status::Timeout;
    const ToolOutcome ended = outcome("log_analysis.execute_code", R"({"code":"1","timeout":2.5})");
    EXPECT_EQ(executor.requests.at(0).timeout, std::chrono::milliseconds(2500));
    EXPECT_NE(ended.text.find("timed out after 2.5 seconds"), std::string::npos) << ended.text;
    outcome("log_analysis.execute_code", R"({"code":"1"})");
    EXPECT_EQ(executor.requests.at(1).timeout, std::chrono::seconds(30));
    for (const char* time : {"-1", "-2.5", "0", "\"long\""}) {
        const ToolOutcome refused = outcome("log_analysis.execute_code",
                                            fmt::format(R"({{"code":"1","timeout":{}}})", time));
        EXPECT_TRUE(refused.failed) << time;
        EXPECT_NE(refused.text.find("\"timeout\" must be"), std::string::npos) << refused.text;
    }
    EXPECT_EQ(executor.requests.size(), 2U);
}

TEST_F(ToolboxTest, CellsOfSessionsNeedTheRightToSessions) {
    const auto needs = [](std::string_view tool, std::string_view arguments) {
        return Toolbox::rights_of(tool, parse_json(arguments).value().as_object())
            .has(access::Right::Sessions);
    };
    for (const char* tool : {"execute_code", "log_analysis.execute_code"}) {
        EXPECT_TRUE(needs(tool, R"({"code":"1","session":true})")) << tool;
        EXPECT_TRUE(needs(tool, R"({"code":"1","session_id":"a"})")) << tool;
        EXPECT_FALSE(needs(tool, R"({"code":"1","session":false,"session_id":null})")) << tool;
    }
    EXPECT_TRUE(needs("execute_batch", R"({"runs":[1,{"code":"1"},{"session_id":"a"}]})"));
    EXPECT_FALSE(needs("execute_batch", R"({"runs":[{"code":"1"}]})"));
    EXPECT_FALSE(needs("execute_batch", R"({"runs":"x"})"));
    EXPECT_FALSE(needs("run_skill", R"({"name":"a","session":true})")) << "an argument like others";
}

TEST_F(ToolboxTest, NamesAreNotGivenTwice) {
    for (const Tool& tool : all_tools()) {
        EXPECT_EQ(find_tool(tool.name), &tool) << tool.name;
    }
}

TEST_F(ToolboxTest, DescribesTheSandbox) {
    const ToolOutcome info = outcome("get_sandbox_info", "{}");
    EXPECT_FALSE(info.failed);
    ASSERT_TRUE(info.structured);
    EXPECT_EQ(schema_fault(*info.structured, output_schema("get_sandbox_info")), "");
    EXPECT_EQ(info.structured->at("network"), json::value("none"));
    EXPECT_EQ(to_text(info.structured->at("languages")),
              R"([{"language":"python","aliases":["py"],"version":"3.11"},)"
              R"({"language":"bash","aliases":["sh"],"version":"5.2"}])");
    EXPECT_EQ(info.structured->at("protocol_versions").as_array().size(), 5U);
    EXPECT_EQ(info.structured->at("limits").at("maximum").at("timeout_seconds"),
              json::value(300.0));
}

TEST_F(ToolboxTest, SandboxInfoTakesNoArguments) {
    const ToolOutcome info = outcome("get_sandbox_info", R"({"verbose":true})");
    EXPECT_TRUE(info.failed);
    EXPECT_NE(info.text.find("\"verbose\""), std::string::npos);
}

TEST(SchemaCheck, FindsFaults) {
    const json::object schema = parse_json(R"({"type":"object","required":["a"],
        "properties":{"a":{"type":["integer","null"]},"b":{"enum":["x"]},
                      "c":{"items":{"anyOf":[{"type":"string"}]}}},
        "additionalProperties":false})")
                                    .value()
                                    .as_object();
    const auto fits = [&](std::string_view text) {
        return schema_fault(parse_json(text).value(), schema).empty();
    };
    EXPECT_TRUE(fits(R"({"a":1,"b":"x","c":["s"]})"));
    EXPECT_TRUE(fits(R"({"a":null})"));
    EXPECT_FALSE(fits("[]"));
    EXPECT_FALSE(fits("{}"));
    EXPECT_FALSE(fits(R"({"a":1.5})"));
    EXPECT_FALSE(fits(R"({"a":1,"b":"y"})"));
    EXPECT_FALSE(fits(R"({"a":1,"c":[1]})"));
    EXPECT_FALSE(fits(R"({"a":1,"d":1})"));
}

}  // namespace
}  // namespace belljar::mcp
