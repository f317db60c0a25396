#include "access/problem.h"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>

#include "access/gate.h"
#include "base/json.h"

namespace belljar::access {
namespace {

HttpResponse shaped(HttpRequest request, HttpResponse response) {
    shape_refusal(request, response);
    return response;
}

json::value body_of(const HttpResponse& response) { return parse_json(response.body).value(); }

TEST(Problem, TellsWhatIsWrongUnderV1) {
    const HttpResponse response =
        shaped({.method = "GET", .path = "/v1/runs/x"}, make_refusal(404, "no such run"));
    EXPECT_EQ(response.content_type, "application/problem+json");
    EXPECT_EQ(body_of(response), json::value({{"type", "about:blank"},
                                              {"title", "Not Found"},
                                              {"status", 404},
                                              {"detail", "no such run"},
                                              {"code", "not_found"},
                                              {"error", "no such run"}}));
}

TEST(Problem, NamesTheMemberOrTheParameter) {
    const json::value posted = body_of(shaped({.method = "POST", .path = "/v1/runs"},
                                              make_refusal(400, "\"timeout\" must be a number")));
    EXPECT_EQ(posted.at_pointer("/errors/0/pointer"), "/timeout");
    EXPECT_EQ(posted.at_pointer("/errors/0/detail"), "\"timeout\" must be a number");
    const json::value asked = body_of(shaped({.method = "GET", .path = "/v1/runs"},
                                             make_refusal(400, "\"limit\" must be a number")));
    EXPECT_EQ(asked.at_pointer("/errors/0/parameter"), "limit");
    const json::value changed = body_of(shaped({.method = "PATCH", .path = "/v1/admin/tokens/x"},
                                               make_refusal(400, "\"roles\" must be an array")));
    EXPECT_EQ(changed.at_pointer("/errors/0/pointer"), "/roles");
    const json::value sent =
        body_of(shaped({.method = "POST", .path = "/v1/x", .query = "path=%2F&overwrite=x"},
                       make_refusal(400, "\"overwrite\" must be true or false")));
    EXPECT_EQ(sent.at_pointer("/errors/0/parameter"), "overwrite");
    for (const char* message : {"\"", "\"a b\" is odd", "plain", "\"\" is empty"}) {
        EXPECT_FALSE(
            body_of(shaped({.method = "POST", .path = "/v1/runs"}, make_refusal(400, message)))
                .as_object()
                .contains("errors"))
            << message;
    }
}

TEST(Problem, AFullQueueIsNotAPartThatIsGone) {
    HttpResponse later = make_refusal(503, "full");
    later.headers.emplace_back("retry-after", "3");
    EXPECT_EQ(body_of(shaped({.path = "/v1/runs"}, std::move(later))).at("code"), "overloaded");
    EXPECT_EQ(body_of(shaped({.path = "/v1/runs"}, make_refusal(503, "gone"))).at("code"),
              "unavailable");
    EXPECT_EQ(body_of(shaped({.path = "/v1/runs"}, make_refusal(418, "tea"))).at("title"),
              "Refused");
}

TEST(Problem, OtherAnswersStayAsTheyAre) {
    const HttpResponse refused = make_refusal(400, "wrong");
    for (const char* path : {"/execute", "/v1", "/v11/runs", "/", ""}) {
        EXPECT_EQ(shaped({.path = path}, make_refusal(400, "wrong")).body, refused.body) << path;
    }
    EXPECT_EQ(shaped({.path = "/v1/x"}, {.status = 404, .content_type = "text/html"}).body, "");
    EXPECT_EQ(shaped({.path = "/v1/x"}, {.status = 400, .body = "[]"}).body, "[]");
    EXPECT_EQ(shaped({.path = "/v1/x"}, {.body = "{\"error\":\"of a run\"}"}).content_type,
              "application/json");
}

}  // namespace
}  // namespace belljar::access
