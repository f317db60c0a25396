#include "mcp/http_session.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace belljar::mcp {
namespace {

class HttpSessionsTest : public testing::Test {
   protected:
    static access::ResponseStreamPtr connect() {
        return std::make_shared<access::ResponseStream>(
            access::ResponseStream::Reader{.on_open = [] {}, .on_piece = [] {}});
    }

    HttpSessionPtr create(const std::string& principal = "anna") {
        return sessions.create(principal, Revision::V2025_11_25);
    }

    asio::io_context io;
    Changes changes;
    HttpSessions sessions{io.get_executor(), changes};
};

TEST_F(HttpSessionsTest, BelongToWhoBeganThem) {
    const HttpSessionPtr session = create();
    EXPECT_EQ(session->id().size(), 32U);
    EXPECT_EQ(sessions.find("anna", session->id()), session);
    EXPECT_EQ(sessions.find("bert", session->id()), nullptr);
    EXPECT_EQ(sessions.find("anna", "made-up"), nullptr);
    sessions.end(session);
    EXPECT_EQ(sessions.find("anna", session->id()), nullptr);
}

TEST_F(HttpSessionsTest, EndingOneEndsItsRequestsAndStreams) {
    const HttpSessionPtr session = create();
    const InFlight::EntryPtr entry = session->in_flight().begin(1).value();
    const SessionStreamPtr stream = session->make_stream(connect());
    session->common_stream()->attach(connect());
    EXPECT_TRUE(session->is_busy());
    sessions.end(session);
    EXPECT_TRUE(entry->cancellation()->requested());
    EXPECT_TRUE(stream->is_over());
    EXPECT_FALSE(session->common_stream()->is_attached());
}

TEST_F(HttpSessionsTest, TheOldestIdleOneOfTheSameCallerMakesRoom) {
    const HttpSessionPtr first = create();
    const HttpSessionPtr busy = create();
    const InFlight::EntryPtr entry = busy->in_flight().begin(1).value();
    const HttpSessionPtr others = create("bert");
    for (std::size_t count = 2; count < HttpSessions::kMostEach; ++count) {
        ASSERT_NE(create(), nullptr);
    }
    EXPECT_NE(sessions.find("anna", busy->id()), nullptr);
    EXPECT_EQ(sessions.count(), HttpSessions::kMostEach + 1);
    EXPECT_NE(create(), nullptr);
    EXPECT_EQ(sessions.count(), HttpSessions::kMostEach + 1);
    EXPECT_EQ(sessions.find("anna", first->id()), nullptr);
    EXPECT_NE(sessions.find("anna", busy->id()), nullptr);
    EXPECT_NE(sessions.find("bert", others->id()), nullptr);
}

TEST_F(HttpSessionsTest, ChangesAreToldOnTheCommonStreamAndKept) {
    const HttpSessionPtr session = create();
    session->memory().subscriptions.insert("test://a");
    changes.tell({.kind = Change::Kind::Tools});  // nobody has ever listened
    const access::ResponseStreamPtr connection = connect();
    session->common_stream()->attach(connection);
    session->common_stream()->open();
    changes.tell({.kind = Change::Kind::Resource, .name = "test://a"});
    changes.tell({.kind = Change::Kind::Resource, .name = "test://b"});
    changes.tell({.kind = Change::Kind::Tools, .principal = "bert"});
    const std::string sent = connection->take();
    EXPECT_NE(sent.find("test://a"), std::string::npos);
    EXPECT_EQ(sent.find("test://b"), std::string::npos);
    EXPECT_EQ(sent.find("list_changed"), std::string::npos);
    session->common_stream()->attach(nullptr);
    changes.tell({.kind = Change::Kind::Tools});
    const access::ResponseStreamPtr again = connect();
    session->common_stream()->resume(again, {0, 2});
    EXPECT_NE(again->take().find("list_changed"), std::string::npos);
}

TEST_F(HttpSessionsTest, MessagesThatAreNotAnsweredAreTaken) {
    const HttpSessionPtr session = create();
    const InFlight::EntryPtr entry = session->in_flight().begin("a").value();
    session->take({.method = "notifications/other", .params = {{"requestId", "a"}}});
    session->take({.method = "notifications/cancelled"});
    EXPECT_FALSE(entry->cancellation()->requested());
    session->take({.method = "notifications/cancelled", .params = {{"requestId", "a"}}});
    EXPECT_TRUE(entry->cancellation()->requested());
    session->take({.kind = Message::Kind::Response, .id = "never-asked"});
}

TEST_F(HttpSessionsTest, OldStreamsGo) {
    const HttpSessionPtr session = create();
    const SessionStreamPtr first = session->make_stream(connect());
    first->answer("done");
    for (int count = 0; count < 40; ++count) {
        session->make_stream(connect())->answer("done");
    }
    EXPECT_EQ(session->find_stream(first->number()), nullptr);
    EXPECT_EQ(session->find_stream(0), session->common_stream());
}

}  // namespace
}  // namespace belljar::mcp
