#include "mcp/sse_connections.h"

#include "mcp/testing/method_test.h"
#include "mcp/testing/vectors.h"

namespace belljar::mcp {
namespace {

class SseConnectionsTest : public MethodTest {
   protected:
    // Opens one and gives the path that messages go to.
    std::string open(const std::string& principal = "anna") {
        stream = std::make_shared<access::ResponseStream>(
            access::ResponseStream::Reader{.on_open = [] {}, .on_piece = [] {}});
        asio::co_spawn(io,
                       connections.open({.principal = principal, .stream = stream}, cancellation),
                       [this](std::exception_ptr failure, access::HttpResponse response) {
                           EXPECT_FALSE(failure);
                           ended = response.status;
                       });
        poll();
        const std::string sent = stream->take();
        const std::string begin = "event: endpoint\ndata: /mcp/messages?";
        EXPECT_TRUE(sent.starts_with(begin)) << sent;
        return sent.substr(begin.size(), sent.find('\n', begin.size()) - begin.size());
    }

    unsigned post(std::string query, std::string body, std::string principal = "anna") {
        const access::HttpResponse response = connections.take({.principal = std::move(principal),
                                                                .query = std::move(query),
                                                                .body = std::move(body)});
        poll();
        return response.status;
    }

    void poll() {
        io.restart();
        io.poll();
    }

    SseConnections connections{io.get_executor(), log, dispatcher, changes};
    access::ResponseStreamPtr stream;
    std::optional<unsigned> ended;
};

TEST_F(SseConnectionsTest, AnswersComeOnTheStream) {
    const std::string query = open();
    EXPECT_EQ(post(query, request("initialize", R"("protocolVersion":"2024-11-05")")), 202U);
    EXPECT_NE(stream->take().find(R"("protocolVersion":"2024-11-05")"), std::string::npos);
    EXPECT_EQ(post(query, "no JSON"), 202U);
    EXPECT_NE(stream->take().find("-32700"), std::string::npos);
    EXPECT_EQ(post(query, notification("notifications/initialized")), 202U);
    EXPECT_TRUE(stream->empty());
    changes.tell({.kind = Change::Kind::Tools});
    EXPECT_NE(stream->take().find("list_changed"), std::string::npos);
}

TEST_F(SseConnectionsTest, OthersCannotSendToIt) {
    const std::string query = open();
    EXPECT_EQ(post(query, request("ping"), "bert"), 404U);
    EXPECT_EQ(post("sessionId=made-up", request("ping")), 404U);
    EXPECT_EQ(post("", request("ping")), 404U);
    EXPECT_TRUE(stream->empty());
}

TEST_F(SseConnectionsTest, EndsWithItsStream) {
    const std::string query = open();
    post(query, request("initialize", R"("protocolVersion":"2024-11-05")"));
    post(query, request("tools/call", R"("name":"slow_compute","arguments":{"seconds":60})"));
    cancellation->request();
    poll();
    EXPECT_TRUE(ended);
    EXPECT_EQ(post(query, request("ping")), 404U);
}

TEST_F(SseConnectionsTest, WhoDoesNotReadIsLetGo) {
    const std::string query = open();
    const std::string list = request("tools/list");
    for (int count = 0; count < 10000 && !ended; ++count) {
        post(query, list);
    }
    EXPECT_TRUE(ended);
    EXPECT_LT(stream->waiting(), 10U << 20U);
}

}  // namespace
}  // namespace belljar::mcp
