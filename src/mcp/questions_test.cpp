#include "mcp/questions.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <vector>

namespace belljar::mcp {
namespace {

class QuestionsTest : public testing::Test {
   protected:
    void ask() {
        asio::co_spawn(io,
                       questions->ask(
                           {.method = "roots/list"},
                           [this](std::string message) {
                               sent.push_back(parse_json(message).value());
                               return reachable;
                           },
                           cancellation),
                       [this](std::exception_ptr failure, RpcResult<json::value> answer) {
                           EXPECT_FALSE(failure);
                           answers.push_back(std::move(answer));
                       });
        io.restart();
        io.poll();
    }

    void respond(json::value id, json::value result, json::value error = nullptr) {
        questions->take({.kind = Message::Kind::Response,
                         .id = std::move(id),
                         .result = std::move(result),
                         .error = std::move(error)});
        io.restart();
        io.poll();
    }

    asio::io_context io;
    std::shared_ptr<Questions> questions = std::make_shared<Questions>();
    engine::CancellationPtr cancellation = std::make_shared<engine::Cancellation>();
    bool reachable = true;
    std::vector<json::value> sent;
    std::vector<RpcResult<json::value>> answers;
};

TEST_F(QuestionsTest, TheAnswerComesBack) {
    ask();
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0].at("method"), json::value("roots/list"));
    respond("other", 1);
    respond(1, 1);
    EXPECT_TRUE(answers.empty());
    respond(sent[0].at("id"), json::object{{"roots", json::array{}}});
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(to_text(answers[0].value()), R"({"roots":[]})");
    respond(sent[0].at("id"), 2);  // nobody waits any more
}

TEST_F(QuestionsTest, EachHasAnIdOfItsOwn) {
    ask();
    ask();
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_NE(sent[0].at("id"), sent[1].at("id"));
    respond(sent[1].at("id"), "second");
    respond(sent[0].at("id"), "first");
    EXPECT_EQ(answers.at(0).value(), json::value("second"));
    EXPECT_EQ(answers.at(1).value(), json::value("first"));
}

TEST_F(QuestionsTest, TheClientsErrorIsTold) {
    ask();
    respond(sent[0].at("id"), nullptr, json::object{{"code", -1}, {"message", "not now"}});
    EXPECT_NE(answers.at(0).error().message.find("not now"), std::string::npos);
}

TEST_F(QuestionsTest, WhoCannotBeReachedIsNotWaitedFor) {
    reachable = false;
    ask();
    EXPECT_FALSE(answers.at(0));
}

TEST_F(QuestionsTest, CancellationEndsItAndTheClientIsTold) {
    ask();
    cancellation->request();
    io.restart();
    io.poll();
    EXPECT_FALSE(answers.at(0));
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(sent[1].at("method"), json::value("notifications/cancelled"));
    EXPECT_EQ(sent[1].at_pointer("/params/requestId"), sent[0].at("id"));
}

TEST_F(QuestionsTest, AreBounded) {
    for (std::size_t count = 0; count < Questions::kMost; ++count) {
        ask();
    }
    EXPECT_TRUE(answers.empty());
    ask();
    EXPECT_EQ(answers.size(), 1U);
    cancellation->request();
    io.restart();
    io.poll();
}

}  // namespace
}  // namespace belljar::mcp
