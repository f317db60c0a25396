#include "access/challenge.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace belljar::access {
namespace {

constexpr std::string_view kMetadata =
    "https://jars.example/.well-known/oauth-protected-resource/mcp";

std::string header_of(const HttpResponse& response) {
    EXPECT_EQ(response.headers.size(), 1U);
    EXPECT_EQ(response.headers.front().first, "WWW-Authenticate");
    return response.headers.front().second;
}

TEST(Quoted, EscapesWhatWouldEndIt) {
    EXPECT_EQ(quoted("plain"), "\"plain\"");
    EXPECT_EQ(quoted("a \"b\" \\ c"), R"("a \"b\" \\ c")");
    EXPECT_EQ(quoted("a\r\nX-Evil: 1\x7F\xC3\xA4"), "\"aX-Evil: 1\"");
}

TEST(Challenge, NamesNoMetadataWhereAccessTokensAreNotTaken) {
    EXPECT_EQ(header_of(ask_for_token("", "a token is needed")), "Bearer realm=\"belljar\"");
    EXPECT_EQ(header_of(refuse_token("", "it is wrong")), "Bearer realm=\"belljar\"");
    EXPECT_EQ(refuse_token("", "it is wrong").status, 401U);
}

TEST(Challenge, SendsAnOAuthClientToTheMetadata) {
    EXPECT_EQ(header_of(ask_for_token(kMetadata, "a token is needed")),
              "Bearer resource_metadata=\"https://jars.example/.well-known/"
              "oauth-protected-resource/mcp\", scope=\"run:exec\"");
    EXPECT_EQ(header_of(refuse_token(kMetadata, "it is \"old\"")),
              "Bearer resource_metadata=\"https://jars.example/.well-known/"
              "oauth-protected-resource/mcp\", scope=\"run:exec\", error=\"invalid_token\", "
              "error_description=\"it is \\\"old\\\"\"");
}

TEST(Challenge, ListsEverythingThatANewTokenMustHave) {
    HttpRequest request;
    request.rights = {Right::FilesRead};
    request.resource_metadata = kMetadata;
    const HttpResponse response =
        insufficient_scope(request, {Right::RunExec, Right::FilesRead, Right::Sessions});
    EXPECT_EQ(response.status, 403U);
    EXPECT_EQ(header_of(response),
              "Bearer error=\"insufficient_scope\", scope=\"run:exec files:read sessions\", "
              "resource_metadata=\"https://jars.example/.well-known/oauth-protected-resource/"
              "mcp\", error_description=\"this caller has no right to do that; missing: run:exec "
              "sessions\"");
    EXPECT_NE(response.body.find("missing: run:exec sessions"), std::string::npos);
    request.resource_metadata.clear();
    EXPECT_TRUE(header_of(insufficient_scope(request, {Right::Admin}))
                    .starts_with("Bearer realm=\"belljar\", error=\"insufficient_scope\", scope="));
}

TEST(ProtectedResource, IsDescribedForClients) {
    const HttpResponse response = describe_resource({.resource = "https://jars.example/mcp",
                                                     .issuer = "https://login.example",
                                                     .metadata_url = std::string(kMetadata)});
    EXPECT_EQ(response.status, 200U);
    const json::value document = parse_json(response.body).value();
    EXPECT_EQ(document.at("resource").as_string(), "https://jars.example/mcp");
    EXPECT_EQ(document.at("authorization_servers").at(0).as_string(), "https://login.example");
    EXPECT_EQ(document.at("scopes_supported").at(0).as_string(), "run:exec");
    EXPECT_EQ(document.at("bearer_methods_supported").at(0).as_string(), "header");
    EXPECT_EQ(response.body.find("admin"), std::string::npos);
    EXPECT_EQ(response.body.find("offline_access"), std::string::npos);
}

}  // namespace
}  // namespace belljar::access
