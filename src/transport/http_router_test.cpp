#include "transport/http_router.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "mcp/testing/fake_executor.h"
#include "mcp/testing/run_task.h"
#include "mcp/testing/vectors.h"

namespace belljar::transport {
namespace {

using access::Headers;
using access::HttpRequest;
using access::HttpResponse;

constexpr std::string_view kToken = "bj_0123456789abcdef";

class HttpRouterTest : public testing::Test {
   protected:
    HttpResponse answer(std::string method, std::string path, Headers headers,
                        std::string body = "") {
        return mcp::run_task(router.answer({.method = std::move(method),
                                            .path = std::move(path),
                                            .headers = std::move(headers),
                                            .body = std::move(body)},
                                           std::make_shared<engine::Cancellation>()));
    }

    static Headers good_headers() {
        return {{"Host", "localhost:8080"},
                {"Authorization", "Bearer " + std::string(kToken)},
                {"Content-Type", "application/json"},
                {"Accept", "application/json, text/event-stream"}};
    }

    mcp::FakeExecutor executor;
    asio::io_context mcp_io;
    Log mcp_log{"test", LogLevel::Error};
    mcp::Server server{
        mcp_io.get_executor(), executor, {.identity = {.version = "1.2.3"}}, mcp_log};
    bool accepts_work = true;
    api::Routes routes{executor, [this] { return accepts_work; }};
    HttpRouter router{access::Gate({.token = std::string(kToken),
                                    .named_tokens = {{.principal = "ada", .token = "bj_ada"}}}),
                      server, routes};
};

TEST_F(HttpRouterTest, WhatIsHereIsToldWithoutAToken) {
    EXPECT_EQ(answer("GET", "/", {{"Host", "localhost"}}).status, 200U);
    EXPECT_EQ(answer("POST", "/", {{"Host", "localhost"}}).status, 401U);
}

TEST_F(HttpRouterTest, HealthAndReadyNeedNoToken) {
    EXPECT_EQ(answer("GET", "/health", {{"Host", "localhost"}}).status, 200U);
    EXPECT_EQ(answer("GET", "/ready", {{"Host", "localhost"}}).status, 200U);
    accepts_work = false;
    EXPECT_EQ(answer("GET", "/ready", {{"Host", "localhost"}}).status, 503U);
}

TEST_F(HttpRouterTest, EverythingElseNeedsAToken) {
    for (const std::string& path : {"/execute", "/mcp", "//", "/nothing", "/health/", "/healthx"}) {
        for (const std::string& method : {"GET", "POST", "DELETE"}) {
            const HttpResponse response = answer(method, path, {{"Host", "localhost"}});
            EXPECT_EQ(response.status, 401U) << method << " " << path;
        }
    }
    EXPECT_TRUE(executor.requests.empty());
}

TEST_F(HttpRouterTest, TheNamesAreCheckedFirstAndEverywhere) {
    for (const std::string& path : {"/health", "/ready", "/execute", "/mcp", "/nothing"}) {
        Headers headers = good_headers();
        headers.erase("Host");
        EXPECT_EQ(answer("POST", path, headers).status, 403U) << path;
        headers.emplace("Host", "evil.example");
        EXPECT_EQ(answer("POST", path, headers).status, 403U) << path;
        headers = good_headers();
        headers.emplace("Origin", "https://evil.example");
        EXPECT_EQ(answer("POST", path, headers).status, 403U) << path;
    }
}

TEST_F(HttpRouterTest, TheCheckAloneSaysTheSame) {
    EXPECT_FALSE(router.check({.method = "POST", .path = "/mcp", .headers = good_headers()}));
    EXPECT_FALSE(router.check({.path = "/health", .headers = {{"Host", "localhost"}}}));
    EXPECT_EQ(router.check({.path = "/mcp", .headers = {{"Host", "localhost"}}})->status, 401U);
    EXPECT_EQ(router.check({.path = "/health"})->status, 403U);
}

TEST_F(HttpRouterTest, ExecuteReachesTheEngine) {
    const HttpResponse response = answer("POST", "/execute", good_headers(), R"({"code":"1"})");
    EXPECT_EQ(response.status, 200U);
    EXPECT_EQ(parse_json(response.body).value().at("execution_id").as_string(), "run-1");
    ASSERT_EQ(executor.requests.size(), 1U);
    EXPECT_EQ(executor.requests[0].code, "1");
}

TEST_F(HttpRouterTest, OurOwnFailureIsExplainedToTheLogAlone) {
    executor.error = Error{.code = ErrorCode::Internal, .message = "the drawer is stuck"};
    const HttpResponse response = answer("POST", "/execute", good_headers(), R"({"code":"1"})");
    EXPECT_EQ(response.status, 500U);
    EXPECT_NE(response.cause.find("the drawer is stuck"), std::string::npos);
    EXPECT_EQ(response.body.find("drawer"), std::string::npos);
    executor.error = Error{.code = ErrorCode::Overloaded, .message = "full"};
    EXPECT_EQ(answer("POST", "/execute", good_headers(), R"({"code":"1"})").cause, "");
}

TEST_F(HttpRouterTest, TheEngineLearnsWhoAsksWhateverTheWay) {
    const std::string call =
        mcp::request("tools/call", R"("name":"execute_code","arguments":{"code":"1"})");
    Headers headers = good_headers();
    answer("POST", "/mcp", headers, call);
    headers.erase("Authorization");
    headers.emplace("Authorization", "Bearer bj_ada");
    answer("POST", "/execute", headers, R"({"code":"1"})");
    answer("POST", "/mcp", headers, call);
    answer("POST", "/mcp", headers, "[" + call + "]");
    ASSERT_EQ(executor.requests.size(), 4U);
    EXPECT_EQ(executor.requests[0].principal, "");
    for (const std::size_t named : {1U, 2U, 3U}) {
        EXPECT_EQ(executor.requests[named].principal, "ada") << named;
    }
}

TEST_F(HttpRouterTest, McpReachesTheProtocol) {
    const HttpResponse response =
        answer("POST", "/mcp", good_headers(),
               mcp::request("initialize", R"("protocolVersion":"2025-06-18","capabilities":{},)"
                                          R"("clientInfo":{"name":"t","version":"1"})"));
    EXPECT_EQ(response.status, 200U);
    EXPECT_EQ(parse_json(response.body).value().at("result").at("protocolVersion").as_string(),
              "2025-06-18");
}

TEST_F(HttpRouterTest, McpTakesPostOnly) {
    for (const std::string& method : {"GET", "DELETE", "PUT", "HEAD", "OPTIONS"}) {
        const HttpResponse response = answer(method, "/mcp", good_headers());
        EXPECT_EQ(response.status, 405U) << method;
        ASSERT_EQ(response.headers.size(), 1U);
        EXPECT_EQ(response.headers[0].first, "Allow");
        EXPECT_EQ(response.headers[0].second, "POST");
    }
}

TEST_F(HttpRouterTest, OtherPathsAreNotFound) {
    for (const std::string& path : {"/nothing", "/mcp/", "/MCP", "/execute/x", ""}) {
        EXPECT_EQ(answer("POST", path, good_headers()).status, 404U) << path;
    }
}

TEST_F(HttpRouterTest, AWrongTokenIsRefusedBeforeTheBodyIsLookedAt) {
    Headers headers = good_headers();
    headers.erase("Authorization");
    headers.emplace("Authorization", "Bearer wrong");
    EXPECT_EQ(answer("POST", "/execute", headers, "not JSON").status, 401U);
    EXPECT_EQ(answer("POST", "/mcp", headers, "not JSON").status, 401U);
}

TEST_F(HttpRouterTest, PagesThatMayAskCanReadTheAnswer) {
    Headers headers = good_headers();
    headers.emplace("Origin", "http://localhost:3000");
    const HttpResponse response = answer("GET", "/v1/runners", headers);
    EXPECT_EQ(response.status, 200U);
    const std::pair<std::string, std::string> allowed{"Access-Control-Allow-Origin",
                                                      "http://localhost:3000"};
    EXPECT_NE(std::ranges::find(response.headers, allowed), response.headers.end());
    headers.emplace("Access-Control-Request-Method", "POST");
    headers.erase("Authorization");
    EXPECT_EQ(answer("OPTIONS", "/mcp", headers).status, 204U);
}

TEST_F(HttpRouterTest, WhoAsksTooMuchIsRefusedBeforeItsBodyIsRead) {
    access::RateLimiter limiter({.each = {.per_minute = 2}, .unknown = {.per_minute = 1}});
    access::RequestCounters counters;
    HttpRouter limited{access::Gate({.token = std::string(kToken)}),
                       server,
                       routes,
                       {.limiter = &limiter, .counters = &counters}};
    const HttpRequest known{
        .client = "10.0.0.1", .method = "POST", .path = "/mcp", .headers = good_headers()};
    EXPECT_FALSE(limited.check(known));
    EXPECT_FALSE(limited.check(known));
    EXPECT_EQ(limited.check(known)->status, 429U);
    const HttpRequest unknown{
        .client = "10.0.0.1", .path = "/mcp", .headers = {{"Host", "localhost"}}};
    EXPECT_EQ(limited.check(unknown)->status, 401U);
    EXPECT_EQ(limited.check(unknown)->status, 429U);
    for (int index = 0; index < 5; ++index) {
        EXPECT_FALSE(limited.check(
            {.client = "10.0.0.1", .path = "/health", .headers = {{"Host", "localhost"}}}));
    }
    const access::RequestFigures figures = counters.figures();
    EXPECT_EQ(figures.rate_limited, 2U);
    EXPECT_EQ(figures.answered.at({"mcp", 429}), 2U);
}

TEST_F(HttpRouterTest, ATraceIsAnsweredAndReachesTheEngine) {
    Headers headers = good_headers();
    headers.emplace("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    const HttpResponse response = answer("POST", "/execute", headers, R"({"code":"1"})");
    const auto header = std::ranges::find(response.headers, "traceresponse",
                                          &std::pair<std::string, std::string>::first);
    ASSERT_NE(header, response.headers.end());
    ASSERT_EQ(executor.requests.size(), 1U);
    EXPECT_EQ(executor.requests[0].trace, "4bf92f3577b34da6a3ce929d0e0e4736");
    EXPECT_EQ(executor.requests[0].trace_parent, header->second);
}

}  // namespace
}  // namespace belljar::transport
