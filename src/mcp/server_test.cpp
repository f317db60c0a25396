#include "mcp/server.h"

#include <gtest/gtest.h>

#include "mcp/testing/fake_executor.h"
#include "mcp/testing/run_task.h"
#include "mcp/testing/vectors.h"

namespace belljar::mcp {
namespace {

using access::Headers;

Headers modern_headers(std::string_view method, std::string_view name = "") {
    Headers headers{{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", std::string(method)}};
    if (!name.empty()) {
        headers.emplace("Mcp-Name", name);
    }
    return headers;
}

class ServerTest : public testing::Test {
   protected:
    access::HttpResponse post(std::string body, Headers headers = {}) {
        if (!headers.contains("Content-Type")) {
            headers.emplace("Content-Type", "application/json");
        }
        return run_task(server.handle_post({.method = "POST",
                                            .path = "/mcp",
                                            .headers = std::move(headers),
                                            .body = std::move(body)},
                                           cancellation));
    }

    json::value post_json(std::string body, Headers headers = {}) {
        return parse_json(text_of(post(std::move(body), std::move(headers)))).value();
    }

    static std::string text_of(const access::HttpResponse& response) {
        return response.body + (response.rest ? *response.rest : "");
    }

    FakeExecutor executor;
    engine::CancellationPtr cancellation = std::make_shared<engine::Cancellation>();
    asio::io_context io;
    Log log{"test", LogLevel::Error};
    Server server{io.get_executor(), executor, {.identity = {.version = "1.2.3"}}, log};
};

// One row of the table of answers that other implementations were measured to give.
struct Vector {
    std::string name;
    Headers headers;
    std::string body;
    unsigned status;
    int error;  // 0: a result, or no body at all
};

std::vector<Vector> modern_vectors() {
    const std::string old_version = meta("2025-11-25");
    const std::string unknown_version = meta("v999");
    return {
        {"discover", modern_headers("server/discover"), modern("server/discover"), 200, 0},
        {"tools/list", modern_headers("tools/list"), modern("tools/list"), 200, 0},
        {"call", modern_headers("tools/call", "execute_code"),
         modern("tools/call", R"("name":"execute_code","arguments":{"code":"1"})"), 200, 0},
        {"bad arguments", modern_headers("tools/call", "execute_code"),
         modern("tools/call", R"("name":"execute_code","arguments":{})"), 200, 0},
        {"unknown tool", modern_headers("tools/call", "x"), modern("tools/call", R"("name":"x")"),
         200, -32602},
        {"unknown method", modern_headers("foo/bar"), modern("foo/bar"), 404, -32601},
        {"ping", modern_headers("ping"), modern("ping"), 404, -32601},
        {"initialize", modern_headers("initialize"), modern("initialize"), 404, -32601},
        {"no headers", {}, modern("tools/list"), 400, -32020},
        {"no method header",
         {{"MCP-Protocol-Version", "2026-07-28"}},
         modern("tools/list"),
         400,
         -32020},
        {"no version header", {{"Mcp-Method", "tools/list"}}, modern("tools/list"), 400, -32020},
        {"no name header", modern_headers("tools/call"),
         modern("tools/call", R"("name":"execute_code")"), 400, -32020},
        {"other name header", modern_headers("tools/call", "y"),
         modern("tools/call", R"("name":"execute_code")"), 400, -32020},
        {"other method header", modern_headers("tools/call"), modern("tools/list"), 400, -32020},
        {"no envelope", modern_headers("tools/list"), request("tools/list"), 400, -32602},
        {"future header, no envelope",
         {{"MCP-Protocol-Version", "2099-01-01"}},
         request("tools/list"),
         400,
         -32602},
        {"legacy version in the envelope",
         {{"MCP-Protocol-Version", "2025-11-25"}, {"Mcp-Method", "tools/list"}},
         request("tools/list", old_version),
         400,
         -32022},
        {"unknown version",
         {{"MCP-Protocol-Version", "v999"}, {"Mcp-Method", "tools/list"}},
         request("tools/list", unknown_version),
         400,
         -32022},
        {"versions differ", modern_headers("tools/list"), request("tools/list", unknown_version),
         400, -32020},
        {"array with an envelope", {}, "[" + modern("tools/list") + "]", 400, -32600},
        {"notification",
         {{"MCP-Protocol-Version", "2026-07-28"}},
         notification("notifications/x"),
         202,
         0},
        {"Accept without event-stream",
         [] {
             Headers headers = modern_headers("tools/list");
             headers.emplace("Accept", "application/json");
             return headers;
         }(),
         modern("tools/list"), 200, 0},
    };
}

std::vector<Vector> legacy_vectors() {
    const std::string two_pings = "[" + request("ping") + "," + request("ping") + "]";
    return {
        {"initialize modern",
         {},
         request("initialize", R"("protocolVersion":"2026-07-28")"),
         200,
         0},
        {"initialize with modern header",
         {{"MCP-Protocol-Version", "2026-07-28"}},
         request("initialize", R"("protocolVersion":"2025-11-25")"),
         400,
         -32020},
        {"bare tools/list", {}, request("tools/list"), 200, 0},
        {"old header",
         {{"MCP-Protocol-Version", "2000-01-01"}},
         request("tools/list"),
         400,
         -32600},
        {"ping", {}, request("ping"), 200, 0},
        {"unknown method", {}, request("foo/bar"), 200, -32601},
        {"bare discover", {}, request("server/discover"), 200, -32601},
        {"initialized", {}, notification("notifications/initialized"), 202, 0},
        {"cancelled", {}, notification("notifications/cancelled", R"("requestId":1)"), 202, 0},
        {"batch", {}, two_pings, 200, 0},
        {"empty batch", {}, "[]", 400, -32600},
        {"batch in a later revision",
         {{"MCP-Protocol-Version", "2025-06-18"}},
         two_pings,
         400,
         -32600},
        {"Accept without event-stream",
         {{"Accept", "application/json"}},
         request("tools/list"),
         406,
         -32600},
        {"not JSON", {}, "{bad", 400, -32700},
        {"text", {{"Content-Type", "text/plain"}}, request("ping"), 415, -32600},
        {"id null", {}, R"({"jsonrpc":"2.0","id":null,"method":"ping"})", 400, -32600},
        {"id fractional", {}, R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", 400, -32600},
        {"response", {}, R"({"jsonrpc":"2.0","id":1,"result":{}})", 400, -32600},
        {"empty body", {}, "", 400, -32700},
        {"too deep", {}, std::string(10000, '['), 400, -32700},
        {"key twice", {}, R"({"jsonrpc":"2.0","id":1,"id":2,"method":"ping"})", 400, -32700},
        {"invalid UTF-8", {}, "\"\xFF\"", 400, -32700},
    };
}

TEST_F(ServerTest, GivesTheGoldenAnswers) {
    std::vector<Vector> vectors = modern_vectors();
    for (const Vector& vector : legacy_vectors()) {
        vectors.push_back(vector);
    }
    for (const Vector& vector : vectors) {
        const access::HttpResponse response = post(vector.body, vector.headers);
        EXPECT_EQ(response.status, vector.status) << vector.name << ": " << response.body;
        if (response.status == 202) {
            EXPECT_TRUE(response.body.empty() && response.content_type.empty()) << vector.name;
            continue;
        }
        EXPECT_EQ(response.content_type, "application/json") << vector.name;
        const json::value body = parse_json(text_of(response)).value();
        const json::object* object = body.if_object();
        const json::value* error = object != nullptr ? object->if_contains("error") : nullptr;
        EXPECT_EQ(error != nullptr ? error->at("code") : json::value(0), json::value(vector.error))
            << vector.name << ": " << response.body;
    }
}

TEST_F(ServerTest, DiscoversInTheModernForm) {
    const json::value body =
        post_json(modern("server/discover"), modern_headers("server/discover"));
    const json::object& result = body.at("result").as_object();
    EXPECT_EQ(result.at("resultType"), json::value("complete"));
    EXPECT_EQ(to_text(result.at("supportedVersions")), R"(["2026-07-28"])");
    EXPECT_EQ(to_text(result.at("_meta")),
              R"({"io.modelcontextprotocol/serverInfo":)"
              R"({"name":"belljar","version":"1.2.3","title":"Belljar"}})");
}

TEST_F(ServerTest, AnswersInTheFormOfTheRevision) {
    const std::string call =
        request("tools/call", R"("name":"execute_code","arguments":{"code":"1"})");
    EXPECT_EQ(post(call).body,
              R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hello\n"}],)"
              R"("isError":false}})");
    const json::value newer = post_json(call, {{"MCP-Protocol-Version", "2025-06-18"}});
    EXPECT_EQ(newer.at_pointer("/result/structuredContent/stdout"), json::value("hello\n"));
    EXPECT_FALSE(newer.at("result").as_object().contains("resultType"));
}

TEST_F(ServerTest, InitializeOverHttpAnswersTheNegotiatedVersion) {
    const json::value body =
        post_json(request("initialize", R"("protocolVersion":"2026-07-28","capabilities":{})"));
    EXPECT_EQ(body.at_pointer("/result/protocolVersion"), json::value("2025-11-25"));
    EXPECT_EQ(to_text(body.at_pointer("/result/serverInfo")),
              R"({"name":"belljar","version":"1.2.3","title":"Belljar"})");
    EXPECT_FALSE(body.at_pointer("/result/capabilities").as_object().contains("extensions"));
}

TEST_F(ServerTest, BatchesAreAnsweredInOrder) {
    EXPECT_EQ(post(R"([{"jsonrpc":"2.0","id":"b","method":"ping"},7,)"
                   R"({"jsonrpc":"2.0","method":"notifications/x"},)"
                   R"({"jsonrpc":"2.0","id":1,"result":{}},)"
                   R"({"jsonrpc":"2.0","id":2,"method":"initialize","params":{}}])")
                  .body,
              R"([{"jsonrpc":"2.0","id":"b","result":{}},)"
              R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,)"
              R"("message":"A JSON-RPC message must be an object, not an integer."}},)"
              R"({"jsonrpc":"2.0","id":2,"error":{"code":-32600,)"
              R"("message":"initialize must be sent alone, not in a batch."}}])");
    EXPECT_EQ(post("[" + notification("notifications/x") + "]").status, 202U);
}

TEST_F(ServerTest, HangingUpEndsABatch) {
    cancellation->request();
    EXPECT_EQ(post("[" + request("ping") + "]").status, 202U);
    EXPECT_TRUE(executor.requests.empty());
}

TEST_F(ServerTest, HostileTextStaysValidJson) {
    const access::HttpResponse response = post(
        modern("tools/list"), {{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", "\xFF\"\\"}});
    EXPECT_EQ(response.status, 400U);
    EXPECT_TRUE(parse_json(response.body));
}

class StreamedAnswerTest : public ServerTest {
   protected:
    // What a client that accepts events gets, and the plain answer if there is no stream.
    std::string call(const std::string& wishes, const std::string& accept) {
        Headers headers = modern_headers("tools/call", "execute_code");
        headers.emplace("Content-Type", "application/json");
        headers.emplace("Accept", accept);
        std::string body =
            modern("tools/call", R"("name":"execute_code","arguments":{"code":"1"})");
        body.insert(body.find(R"("io.modelcontextprotocol/clientCapabilities")"), wishes);
        plain = run_task(server.handle_post({.method = "POST",
                                             .path = "/mcp",
                                             .headers = std::move(headers),
                                             .body = std::move(body),
                                             .stream = stream},
                                            cancellation));
        return stream->is_open() ? stream->take() : "";
    }

    access::ResponseStreamPtr stream = std::make_shared<access::ResponseStream>(
        access::ResponseStream::Reader{.on_open = [] {}, .on_piece = [] {}});
    access::HttpResponse plain;
};

constexpr std::string_view kBothForms = "application/json, text/event-stream";
constexpr std::string_view kWantsLog = R"("io.modelcontextprotocol/logLevel":"info",)";

TEST_F(StreamedAnswerTest, NotificationsComeBeforeTheAnswer) {
    executor.output = {{engine::OutputStream::Stdout, "hello\n"}};
    const std::string events = call(std::string(kWantsLog), std::string(kBothForms));
    EXPECT_TRUE(
        events.starts_with("event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":"
                           "\"notifications/message\""))
        << events;
    const std::size_t answer = events.find("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1");
    ASSERT_NE(answer, std::string::npos) << events;
    EXPECT_TRUE(events.ends_with("\n\n"));
    EXPECT_EQ(events.find("id: "), std::string::npos);
}

TEST_F(StreamedAnswerTest, AnswerIsPlainIfNothingIsTold) {
    executor.output = {{engine::OutputStream::Stdout, "hello\n"}};
    EXPECT_EQ(call("", std::string(kBothForms)), "");
    EXPECT_TRUE(plain.body.starts_with("{\"jsonrpc\"")) << plain.body;
    EXPECT_EQ(call(R"("progressToken":7,)", std::string(kBothForms)), "") << "it was short";
    EXPECT_EQ(call(std::string(kWantsLog), "application/json"), "") << "it takes no events";
    EXPECT_TRUE(plain.body.starts_with("{\"jsonrpc\"")) << plain.body;
}

TEST_F(StreamedAnswerTest, WrongWishesAreAnError) {
    call(R"("progressToken":1.5,)", std::string(kBothForms));
    EXPECT_NE(plain.body.find("-32602"), std::string::npos);
}

TEST_F(ServerTest, LevelCannotBeSetWithoutAConnection) {
    const json::value body = post_json(request("logging/setLevel", R"("level":"info")"));
    EXPECT_EQ(body.at_pointer("/error/code"), -32600);
}

}  // namespace
}  // namespace belljar::mcp
