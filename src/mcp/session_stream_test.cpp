#include "mcp/session_stream.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

namespace belljar::mcp {
namespace {

using access::ResponseStream;
using access::ResponseStreamPtr;

class SessionStreamTest : public testing::Test {
   protected:
    static ResponseStreamPtr connect() {
        return std::make_shared<ResponseStream>(
            ResponseStream::Reader{.on_open = [] {}, .on_piece = [] {}});
    }

    SessionStreamPtr make(SessionStream::Priming priming = SessionStream::Priming::With) {
        return std::make_shared<SessionStream>(io.get_executor(), 7, log, priming);
    }

    // Whether it is still being served.
    void serve(const SessionStreamPtr& stream, const ResponseStreamPtr& connection) {
        serving = true;
        asio::co_spawn(io, stream->serve(connection, hung_up),
                       [this](std::exception_ptr) { serving = false; });
        poll();
    }

    void poll() {
        io.restart();
        io.poll();
    }

    asio::io_context io;
    EventLog log{std::make_shared<EventBudget>()};
    engine::CancellationPtr hung_up = std::make_shared<engine::Cancellation>();
    bool serving = false;
};

TEST_F(SessionStreamTest, AnAnswerAloneIsPlain) {
    const SessionStreamPtr stream = make();
    const ResponseStreamPtr connection = connect();
    stream->attach(connection);
    serve(stream, connection);
    EXPECT_TRUE(serving);
    stream->answer("done");
    poll();
    EXPECT_FALSE(serving);
    EXPECT_EQ(stream->take_plain_answer(), "done");
    EXPECT_EQ(stream->take_plain_answer(), std::nullopt);
    EXPECT_FALSE(connection->is_open());
}

TEST_F(SessionStreamTest, WhatIsToldBeforeItMakesAStream) {
    const SessionStreamPtr stream = make();
    const ResponseStreamPtr connection = connect();
    stream->attach(connection);
    EXPECT_TRUE(stream->tell("first"));
    stream->answer("done");
    EXPECT_EQ(connection->take(),
              "id: 7-1\ndata:\n\n"
              "id: 7-2\nevent: message\ndata: first\n\n"
              "id: 7-3\nevent: message\ndata: done\n\n");
    EXPECT_EQ(stream->take_plain_answer(), std::nullopt);
    EXPECT_FALSE(stream->tell("too late"));
}

TEST_F(SessionStreamTest, WhoComesBackGetsWhatItMissed) {
    const SessionStreamPtr stream = make(SessionStream::Priming::Without);
    stream->attach(connect());
    stream->tell("first");
    hung_up->request();
    serve(stream, nullptr);
    stream->attach(nullptr);
    EXPECT_TRUE(stream->tell("second"));
    stream->answer("done");
    const ResponseStreamPtr again = connect();
    stream->resume(again, {7, 1});
    EXPECT_EQ(again->take(),
              "id: 7-2\nevent: message\ndata: second\n\n"
              "id: 7-3\nevent: message\ndata: done\n\n");
    EXPECT_FALSE(stream->is_attached());
}

TEST_F(SessionStreamTest, HangingUpTellsWhenToComeBack) {
    const SessionStreamPtr stream = make();
    const ResponseStreamPtr connection = connect();
    stream->attach(connection);
    serve(stream, connection);
    stream->hang_up();
    poll();
    EXPECT_FALSE(serving);
    const std::string sent = connection->take();
    EXPECT_NE(sent.find("id: 7-1\ndata:\n\n"), std::string::npos);
    EXPECT_NE(sent.find("retry: "), std::string::npos);
    stream->answer("done");
    EXPECT_EQ(stream->take_plain_answer(), std::nullopt);
    const ResponseStreamPtr again = connect();
    stream->resume(again, {7, 1});
    EXPECT_NE(again->take().find("done"), std::string::npos);
}

TEST_F(SessionStreamTest, ANewConnectionTakesOver) {
    const SessionStreamPtr stream = make();
    const ResponseStreamPtr first = connect();
    stream->attach(first);
    stream->open();
    serve(stream, first);
    const ResponseStreamPtr second = connect();
    stream->resume(second, {7, 1});
    poll();
    EXPECT_FALSE(serving);
    EXPECT_FALSE(first->take().empty());
    stream->tell("news");
    EXPECT_TRUE(first->empty());
    EXPECT_NE(second->take().find("news"), std::string::npos);
}

TEST_F(SessionStreamTest, ALostConnectionIsLetGo) {
    const SessionStreamPtr stream = make();
    const ResponseStreamPtr connection = connect();
    stream->attach(connection);
    serve(stream, connection);
    hung_up->request();
    poll();
    EXPECT_FALSE(serving);
    EXPECT_FALSE(stream->is_attached());
    EXPECT_FALSE(stream->is_over());
}

TEST_F(SessionStreamTest, BeginsWhenThereIsNothingToSayForLong) {
    const SessionStreamPtr stream = make();
    const ResponseStreamPtr connection = connect();
    stream->attach(connection);
    serve(stream, connection);
    EXPECT_FALSE(connection->is_open());
    io.restart();
    io.run_for(SessionStream::kSilence + std::chrono::seconds(1));
    EXPECT_TRUE(connection->is_open());
    EXPECT_TRUE(serving);
    stream->answer("done");
    poll();
    EXPECT_FALSE(serving);
    EXPECT_NE(connection->take().find("done"), std::string::npos);
}

}  // namespace
}  // namespace belljar::mcp
