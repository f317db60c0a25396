#include "mcp/tool_methods.h"

#include <set>

#include "mcp/testing/method_test.h"

namespace belljar::mcp {
namespace {

class ToolMethodsTest : public MethodTest {
   protected:
    json::value call_tool(std::string_view name, json::object arguments = {},
                          json::object capabilities = {}) {
        return ask("tools/call", {{"name", name}, {"arguments", std::move(arguments)}},
                   std::move(capabilities));
    }
};

TEST_F(ToolMethodsTest, ListsEveryToolOnce) {
    const json::value listed = ask("tools/list");
    std::set<std::string> names;
    for (const json::value& tool : listed.at_pointer("/result/tools").as_array()) {
        EXPECT_TRUE(names.emplace(tool.at("name").as_string()).second);
        EXPECT_LE(tool.at("name").as_string().size(), 64U);
        EXPECT_FALSE(tool.at("description").as_string().empty());
        EXPECT_EQ(tool.at("inputSchema").at("type"), json::value("object"));
    }
    EXPECT_TRUE(names.contains("test_simple_text"));
    EXPECT_EQ(to_text(ask("tools/list")), to_text(listed));
    EXPECT_EQ(error_of(ask("tools/list", {{"cursor", "x"}})), -32602);
}

// Tools that change while the server runs, one of which not everybody may call.
class ChangingProvider final : public Provider {
   public:
    std::vector<ToolDefinition> tools() const override {
        ++asked;
        return {{.name = "open", .title = "Open", .description = description},
                {.name = "guarded", .description = "d"}};
    }
    std::uint64_t tools_version() const override { return version; }
    bool has_tool(std::string_view name) const override {
        return name == "open" || name == "guarded";
    }
    access::Rights tool_needs(std::string_view name,
                              const json::object& /*arguments*/) const override {
        return name == "guarded" ? access::Rights{access::Right::RunExec} : access::Rights{};
    }

    std::uint64_t version = 1;
    std::string description = "first";
    mutable int asked = 0;
};

class KeptListTest : public MethodTest {
   protected:
    Reply list(json::value id, Revision revision = kModernRevision,
               access::Rights rights = access::Rights::all()) {
        Call call = modern_call("tools/list");
        call.message.id = std::move(id);
        call.revision = revision;
        call.rights = rights;
        return run(own.answer(std::move(call), cancellation));
    }

    ChangingProvider provider;
    Dispatcher own{{.version = "1.2.3"}, {&provider}, changes, tasks, log};
};

TEST_F(KeptListTest, IsSharedByAllWhoAskAlikeWhateverTheirId) {
    const Reply first = list(1);
    const int asked = provider.asked;
    const Reply second = list("x");
    EXPECT_EQ(provider.asked, asked);
    EXPECT_EQ(first.rest, second.rest);
    const json::value answered = parse_json(text_of(second)).value();
    EXPECT_EQ(answered.at("id"), json::value("x"));
    EXPECT_EQ(answered.at("result"), parse_json(text_of(first)).value().at("result"));
}

TEST_F(KeptListTest, IsMadeAnewWhenToolsChange) {
    EXPECT_TRUE(text_of(list(1)).contains("\"first\""));
    const Reply old = list(1);
    provider.description = "second";
    provider.version = 2;
    EXPECT_TRUE(text_of(list(1)).contains("\"second\""));
    EXPECT_FALSE(text_of(list(1)).contains("\"first\""));
    EXPECT_TRUE(text_of(old).contains("\"first\""));  // on its way out while they changed
}

TEST_F(KeptListTest, IsAnotherForOtherRights) {
    EXPECT_TRUE(text_of(list(1)).contains("\"guarded\""));
    EXPECT_FALSE(text_of(list(1, kModernRevision, {})).contains("\"guarded\""));
    EXPECT_TRUE(text_of(list(1)).contains("\"guarded\""));
    EXPECT_FALSE(text_of(list(1, kModernRevision, {})).contains("\"guarded\""));
}

TEST_F(KeptListTest, IsAnotherForEveryRevision) {
    EXPECT_TRUE(text_of(list(1)).contains("resultType"));
    EXPECT_FALSE(text_of(list(1, Revision::V2025_06_18)).contains("resultType"));
    EXPECT_TRUE(text_of(list(1, Revision::V2025_06_18)).contains("\"title\""));
    EXPECT_FALSE(text_of(list(1, Revision::V2024_11_05)).contains("\"title\""));
}

TEST_F(ToolMethodsTest, CallsWithAndWithoutArguments) {
    EXPECT_EQ(call_tool("greet", {{"name", "Anna"}}).at_pointer("/result/content/0/text"),
              json::value("Hello, Anna!"));
    const json::value bare = ask("tools/call", {{"name", "test_simple_text"}});
    EXPECT_EQ(bare.at_pointer("/result/isError"), json::value(false));
}

TEST_F(ToolMethodsTest, MalformedCallsAreErrors) {
    EXPECT_EQ(error_of(ask("tools/call")), -32602);
    EXPECT_EQ(error_of(ask("tools/call", {{"name", 1}})), -32602);
    EXPECT_EQ(error_of(ask("tools/call", {{"name", "greet"}, {"arguments", "x"}})), -32602);
    EXPECT_EQ(error_of(call_tool("nothing")), -32602);
}

TEST_F(ToolMethodsTest, ToolsWithoutTextGiveNoEmptyText) {
    const json::value picture = call_tool("test_image_content");
    ASSERT_EQ(picture.at_pointer("/result/content").as_array().size(), 1U);
    EXPECT_EQ(picture.at_pointer("/result/content/0/type"), json::value("image"));
}

TEST_F(ToolMethodsTest, HeadersMustRepeatMarkedArguments) {
    const Message message{.method = "tools/call",
                          .params = {{"name", "test_header_argument"},
                                     {"arguments", json::object{{"region", "eu"}}}}};
    ToolMethods& methods = dispatcher.tools();
    EXPECT_EQ(methods.find_header_fault(message, {.headers = {{"Mcp-Param-Region", "eu"}}}),
              std::nullopt);
    EXPECT_EQ(methods.find_header_fault(message, {})->code, RpcCode::HeaderMismatch);
}

TEST_F(ToolMethodsTest, OnlyWhoKnowsTasksGetsOne) {
    EXPECT_EQ(call_tool("slow_compute").at_pointer("/result/resultType"), json::value("complete"));
    EXPECT_EQ(call_tool("slow_compute", {}, tasks_declared()).at_pointer("/result/resultType"),
              json::value("task"));
    EXPECT_EQ(
        call_tool("greet", {{"name", "x"}}, tasks_declared()).at_pointer("/result/resultType"),
        json::value("complete"));
    EXPECT_EQ(error_of(call_tool("failing_job")), -32021);
}

TEST_F(ToolMethodsTest, ATaskMayBeginAfterWhatItAsks) {
    const json::value asked = call_tool("test_tool_with_task", {}, tasks_declared());
    EXPECT_EQ(asked.at_pointer("/result/resultType"), json::value("input_required"));
    const json::value begun = ask(
        "tools/call",
        {{"name", "test_tool_with_task"},
         {"arguments", json::object{}},
         {"inputResponses",
          json::object{{"user_name", json::object{{"action", "accept"},
                                                  {"content", json::object{{"name", "Anna"}}}}}}}},
        tasks_declared());
    EXPECT_EQ(begun.at_pointer("/result/resultType"), json::value("task"));
    const json::value ended =
        ask("tasks/get", {{"taskId", begun.at_pointer("/result/taskId")}}, tasks_declared());
    EXPECT_NE(to_text(ended).find("Anna"), std::string::npos);
}

}  // namespace
}  // namespace belljar::mcp
