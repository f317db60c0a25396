#include "mcp/prompt_methods.h"

#include "mcp/testing/method_test.h"

namespace belljar::mcp {
namespace {

class PromptMethodsTest : public MethodTest {
   protected:
    json::value complete(json::object ref, json::object argument) {
        return ask("completion/complete",
                   {{"ref", std::move(ref)}, {"argument", std::move(argument)}});
    }
};

TEST_F(PromptMethodsTest, ListsWithArguments) {
    const json::value listed = ask("prompts/list");
    EXPECT_EQ(listed.at_pointer("/result/prompts/1/arguments/0/name"), json::value("arg1"));
    EXPECT_EQ(error_of(ask("prompts/list", {{"cursor", "x"}})), -32602);
}

TEST_F(PromptMethodsTest, GetsWithArguments) {
    const json::value got =
        ask("prompts/get", {{"name", "test_prompt_with_arguments"},
                            {"arguments", json::object{{"arg1", "hello"}, {"arg2", "world"}}}});
    EXPECT_EQ(got.at_pointer("/result/messages/0/content/text"),
              json::value("Prompt with arguments: arg1='hello', arg2='world'"));
}

TEST_F(PromptMethodsTest, SaysWhatIsMissingOrWrong) {
    EXPECT_EQ(error_of(ask("prompts/get")), -32602);
    EXPECT_EQ(error_of(ask("prompts/get", {{"name", "nothing"}})), -32602);
    EXPECT_EQ(error_of(ask("prompts/get", {{"name", "test_prompt_with_arguments"}})), -32602);
    EXPECT_EQ(error_of(ask("prompts/get", {{"name", "test_simple_prompt"}, {"arguments", 1}})),
              -32602);
    EXPECT_EQ(error_of(ask("prompts/get", {{"name", "test_simple_prompt"},
                                           {"arguments", json::object{{"x", 1}}}})),
              -32602);
}

TEST_F(PromptMethodsTest, MayAskForSomethingFirst) {
    const json::object forms{{"elicitation", json::object{}}};
    const json::value asked =
        ask("prompts/get", {{"name", "test_input_required_result_prompt"}}, forms);
    EXPECT_EQ(asked.at_pointer("/result/resultType"), json::value("input_required"));
    const json::value got = ask(
        "prompts/get",
        {{"name", "test_input_required_result_prompt"},
         {"inputResponses", json::object{{"user_context", json::object{{"action", "accept"}}}}}},
        forms);
    EXPECT_EQ(got.at_pointer("/result/resultType"), json::value("complete"));
}

TEST_F(PromptMethodsTest, CompletesWhatWasBegun) {
    const json::object prompt{{"type", "ref/prompt"}, {"name", "test_prompt_with_arguments"}};
    const json::value found = complete(prompt, {{"name", "arg1"}, {"value", "park"}});
    EXPECT_EQ(to_text(found.at_pointer("/result/completion")),
              R"({"values":["park"],"total":1,"hasMore":false})");
    const json::object described{{"type", "ref/resource"}, {"uri", "test://template/{id}/data"}};
    EXPECT_EQ(error_of(complete(described, {{"name", "id"}, {"value", ""}})), 0);
    const json::object unknown{{"type", "ref/prompt"}, {"name", "nothing"}};
    EXPECT_EQ(error_of(complete(unknown, {{"name", "x"}, {"value", ""}})), -32602);
    EXPECT_EQ(error_of(complete({}, {})), -32602);
    EXPECT_EQ(error_of(complete(prompt, {{"name", "arg1"}})), -32602);
}

}  // namespace
}  // namespace belljar::mcp
