#include "mcp/rounds.h"

#include "mcp/testing/method_test.h"

namespace belljar::mcp {
namespace {

class RoundsTest : public MethodTest {
   protected:
    static json::object wanted(std::string_view tool, json::object more = {}) {
        json::object params{{"name", tool}, {"arguments", json::object{}}};
        for (json::key_value_pair& member : more) {
            params[member.key()] = std::move(member.value());
        }
        return params;
    }

    static json::object accepted(std::string_view key, json::object content) {
        json::object answers;
        answers[key] = json::object{{"action", "accept"}, {"content", std::move(content)}};
        return answers;
    }

    const json::object forms{{"elicitation", json::object{}}};
};

TEST_F(RoundsTest, AModernClientIsToldWhatIsNeededAndComesBackWithIt) {
    const json::value first =
        ask("tools/call", wanted("test_input_required_result_multi_round"), forms);
    EXPECT_EQ(first.at_pointer("/result/resultType"), json::value("input_required"));
    EXPECT_TRUE(first.at_pointer("/result/inputRequests").as_object().contains("step1"));
    const json::value second =
        ask("tools/call",
            wanted("test_input_required_result_multi_round",
                   {{"requestState", first.at_pointer("/result/requestState")},
                    {"inputResponses", accepted("step1", {{"name", "Anna"}})}}),
            forms);
    EXPECT_TRUE(second.at_pointer("/result/inputRequests").as_object().contains("step2"));
    const json::value third =
        ask("tools/call",
            wanted("test_input_required_result_multi_round",
                   {{"requestState", second.at_pointer("/result/requestState")},
                    {"inputResponses", accepted("step2", {{"color", "red"}})}}),
            forms);
    EXPECT_EQ(third.at_pointer("/result/resultType"), json::value("complete"));
}

TEST_F(RoundsTest, AStateIsForOneRequestAndOneUse) {
    const auto tool = "test_input_required_result_request_state";
    const json::value first = ask("tools/call", wanted(tool), forms);
    const json::object more{{"requestState", first.at_pointer("/result/requestState")},
                            {"inputResponses", accepted("confirm", {{"ok", true}})}};
    const auto elsewhere = "test_input_required_result_tampered_state";
    EXPECT_EQ(error_of(ask("tools/call", wanted(elsewhere, more), forms)), -32602);
    Call foreign = modern_call("tools/call", wanted(tool, more), forms);
    foreign.principal = "bert";
    EXPECT_EQ(error_of(answer(std::move(foreign))), -32602);
    EXPECT_EQ(error_of(ask("tools/call", wanted(tool, more), forms)), 0);
    EXPECT_EQ(error_of(ask("tools/call", wanted(tool, more), forms)), -32602);
}

TEST_F(RoundsTest, MalformedAnswersAreRefused) {
    const auto tool = "test_input_required_result_elicitation";
    EXPECT_EQ(error_of(ask("tools/call", wanted(tool, {{"inputResponses", "x"}}), forms)), -32602);
    EXPECT_EQ(error_of(ask("tools/call", wanted(tool, {{"requestState", 1}}), forms)), -32602);
    EXPECT_EQ(error_of(ask("tools/call", wanted(tool, {{"requestState", "made.up"}}), forms)),
              -32602);
}

TEST_F(RoundsTest, WhatTheClientDidNotDeclareIsNotAskedOfIt) {
    const json::value refused = ask("tools/call", wanted("test_missing_capability"), forms);
    EXPECT_EQ(error_of(refused), -32021);
    EXPECT_EQ(to_text(refused.at_pointer("/error/data")),
              R"({"requiredCapabilities":{"sampling":{}}})");
    const json::value legacy = ask_legacy("tools/call", wanted("test_missing_capability"));
    EXPECT_EQ(legacy.at_pointer("/result/isError"), json::value(true));
}

TEST_F(RoundsTest, ALegacyClientIsAskedWhileItsRequestWaits) {
    ConnectionMemory memory{.capabilities = forms};
    Call call = legacy_call("tools/call", {{"name", "test_elicitation"},
                                           {"arguments", json::object{{"message", "Who?"}}}});
    call.memory = &memory;
    call.questions = std::make_shared<Questions>();
    call.send_question = [questions = call.questions, this](std::string message) {
        const json::value question = parse_json(message).value();
        EXPECT_EQ(question.at("method"), json::value("elicitation/create"));
        EXPECT_EQ(question.at_pointer("/params/message"), json::value("Who?"));
        asio::post(io, [questions, id = question.at("id")] {
            questions->take({.kind = Message::Kind::Response,
                             .id = id,
                             .result = json::object{{"action", "decline"}}});
        });
        return true;
    };
    const json::value answered = answer(std::move(call));
    EXPECT_EQ(answered.at_pointer("/result/content/0/text"),
              json::value("User response: action=decline, content={}"));
}

TEST_F(RoundsTest, WithoutASessionALegacyClientCannotBeAsked) {
    ConnectionMemory memory{.capabilities = forms};
    Call call = legacy_call("tools/call", wanted("test_input_required_result_elicitation"));
    call.memory = &memory;
    EXPECT_EQ(error_of(answer(std::move(call))), -32602);
}

TEST(MissingCapability, KnowsFormsAndAddresses) {
    const json::object form{{"method", "elicitation/create"}, {"params", json::object{}}};
    const json::object address{{"method", "elicitation/create"},
                               {"params", json::object{{"mode", "url"}}}};
    const json::object both{
        {"elicitation", json::object{{"form", json::object{}}, {"url", json::object{}}}}};
    const json::object only_url{{"elicitation", json::object{{"url", json::object{}}}}};
    const json::object bare{{"elicitation", json::object{}}};
    EXPECT_FALSE(missing_capability(both, form));
    EXPECT_FALSE(missing_capability(both, address));
    EXPECT_FALSE(missing_capability(bare, form));
    EXPECT_TRUE(missing_capability(bare, address));
    EXPECT_TRUE(missing_capability(only_url, form));
    EXPECT_TRUE(missing_capability({}, form));
}

}  // namespace
}  // namespace belljar::mcp
