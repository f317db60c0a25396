#include "mcp/sse_connections.h"

#include "mcp/testing/method_test.h"
#include "mcp/testing/vectors.h"

namespace belljar::mcp {
namespace {

// A tool that not everybody may call, and that remembers who did.
class GuardedTool final : public Provider {
   public:
    bool has_tool(std::string_view name) const override { return name == "guarded"; }
    access::Rights tool_needs(std::string_view /*name*/,
                              const json::object& /*arguments*/) const override {
        return {access::Right::RunExec};
    }
    Task<RpcResult<Round<ToolOutcome>>> call_tool(ToolRequest request,
                                                  engine::CancellationPtr /*stop*/) override {
        if (request.arguments.contains("throw")) {
            throw std::runtime_error("something");
        }
        askers.push_back(std::move(request.asker));
        co_return ToolOutcome{.text = "called"};
    }

    std::vector<Asker> askers;
};

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
        access::HttpRequest request = as_sent;
        request.principal = std::move(principal);
        request.query = std::move(query);
        request.body = std::move(body);
        const access::HttpResponse response = connections.take(std::move(request));
        poll();
        return response.status;
    }

    void poll() {
        io.restart();
        io.poll();
    }

    GuardedTool guarded;
    Dispatcher own{{.version = "1.2.3"}, {&fixtures, &guarded}, changes, tasks, log};
    SseConnections connections{io.get_executor(), log, own, changes};
    access::HttpRequest as_sent;  // what else the gate has found out about each POST
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

// Roles are taken away, tokens expire and narrower ones follow: the stream stays open meanwhile.
TEST_F(SseConnectionsTest, EachMessageHasTheRightsOfItsOwnToken) {
    const std::string query = open();
    post(query, request("initialize", R"("protocolVersion":"2024-11-05")"));
    const std::string call = request("tools/call", R"("name":"guarded","arguments":{})");
    as_sent.rights = {access::Right::FilesRead};
    EXPECT_FALSE(stream->take().empty());
    EXPECT_EQ(post(query, call), 202U);
    EXPECT_NE(stream->take().find("run:exec"), std::string::npos);
    EXPECT_TRUE(guarded.askers.empty());
    as_sent.rights = {access::Right::RunExec};
    as_sent.client = "127.0.0.9";
    as_sent.tool_sets = {"analysts"};
    as_sent.trace = access::TraceContext{.trace_id = "7"};
    post(query, call);
    ASSERT_EQ(guarded.askers.size(), 1U);
    EXPECT_FALSE(guarded.askers[0].rights.has(access::Right::FilesRead));
    EXPECT_EQ(guarded.askers[0].origin.address, "127.0.0.9");
    EXPECT_EQ(guarded.askers[0].origin.tool_sets, std::vector<std::string>{"analysts"});
    EXPECT_EQ(guarded.askers[0].trace->trace_id, "7");
}

TEST_F(SseConnectionsTest, AFaultOfOursIsAnAnswer) {
    const std::string query = open();
    post(query, request("initialize", R"("protocolVersion":"2024-11-05")"));
    EXPECT_FALSE(stream->take().empty());
    post(query, request("tools/call", R"("name":"guarded","arguments":{"throw":1})"));
    EXPECT_NE(stream->take().find("-32603"), std::string::npos);
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
