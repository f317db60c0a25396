#include "access/cross_origin.h"

#include <gtest/gtest.h>

#include <map>

namespace belljar::access {
namespace {

std::map<std::string, std::string> headers_of(const HttpResponse& response) {
    return {response.headers.begin(), response.headers.end()};
}

TEST(CrossOrigin, AnswersABrowserThatAsksAhead) {
    const HttpRequest request{.method = "OPTIONS",
                              .path = "/mcp",
                              .headers = {{"Origin", "http://localhost:3000"},
                                          {"Access-Control-Request-Method", "POST"}}};
    const HttpResponse response = answer_preflight(request).value();
    EXPECT_EQ(response.status, 204U);
    EXPECT_TRUE(response.body.empty());
    auto headers = headers_of(response);
    EXPECT_EQ(headers["Access-Control-Allow-Origin"], "http://localhost:3000");
    EXPECT_NE(headers["Access-Control-Allow-Methods"].find("DELETE"), std::string::npos);
    EXPECT_NE(headers["Access-Control-Allow-Headers"].find(
                  "content-type, authorization, mcp-protocol-version, mcp-method, mcp-name, "
                  "mcp-session-id, last-event-id"),
              std::string::npos);
    for (const char* name :
         {"idempotency-key", "prefer", "if-match", "if-none-match", "if-range"}) {
        EXPECT_TRUE(headers["Access-Control-Allow-Headers"].contains(name)) << name;
    }
    EXPECT_EQ(headers["Vary"], "Origin");
    EXPECT_FALSE(headers.contains("Access-Control-Allow-Credentials"));
}

TEST(CrossOrigin, OtherRequestsAreNoQuestionsAhead) {
    EXPECT_FALSE(answer_preflight({.method = "OPTIONS"}));
    EXPECT_FALSE(answer_preflight({.method = "OPTIONS", .headers = {{"Origin", "http://a"}}}));
    EXPECT_FALSE(answer_preflight(
        {.method = "OPTIONS", .headers = {{"Access-Control-Request-Method", "POST"}}}));
    EXPECT_FALSE(answer_preflight(
        {.method = "POST",
         .headers = {{"Origin", "http://a"}, {"Access-Control-Request-Method", "POST"}}}));
}

TEST(CrossOrigin, APageMayReadWhatItIsToldToDo) {
    auto headers = headers_of(
        {.headers = cross_origin_headers({.headers = {{"Origin", "http://localhost:3000"}}})});
    EXPECT_EQ(headers["Access-Control-Allow-Origin"], "http://localhost:3000");
    EXPECT_TRUE(
        headers["Access-Control-Expose-Headers"].starts_with("mcp-session-id, www-authenticate"));
    for (const char* name : {"retry-after", "etag", "location", "link", "idempotency-replayed",
                             "ratelimit", "ratelimit-policy"}) {
        EXPECT_TRUE(
            (headers["Access-Control-Expose-Headers"] + ",").contains(name + std::string(",")))
            << name;
    }
    EXPECT_TRUE(cross_origin_headers({}).empty());
    EXPECT_TRUE(cross_origin_headers({.headers = {{"Origin", "http://a"}, {"Origin", "http://b"}}})
                    .empty());
}

}  // namespace
}  // namespace belljar::access
