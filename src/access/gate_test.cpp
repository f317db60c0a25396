#include "access/gate.h"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>

#include "base/json.h"

namespace belljar::access {
namespace {

constexpr std::string_view kToken = "bj_0123456789abcdef";

TEST(HostName, IsTheAuthorityWithoutItsPort) {
    EXPECT_EQ(host_name("localhost"), "localhost");
    EXPECT_EQ(host_name("localhost:8080"), "localhost");
    EXPECT_EQ(host_name("Example.ORG:443"), "example.org");
    EXPECT_EQ(host_name("127.0.0.1:1"), "127.0.0.1");
    EXPECT_EQ(host_name("[::1]"), "::1");
    EXPECT_EQ(host_name("[::1]:8080"), "::1");
    EXPECT_EQ(host_name("[FE80::A]:65535"), "fe80::a");
}

TEST(HostName, IsNothingForWhatIsMalformed) {
    for (const std::string_view authority : {"",
                                             ":",
                                             ":8080",
                                             "localhost:",
                                             "localhost:x",
                                             "localhost:80:80",
                                             "localhost:-1",
                                             "localhost:123456",
                                             "a b",
                                             "a\tb",
                                             "user@localhost",
                                             "localhost/",
                                             "localhost:80/",
                                             "::1",
                                             "[",
                                             "[::1",
                                             "[::1]x",
                                             "[::1]:",
                                             "[::1]:x",
                                             "http://localhost"}) {
        EXPECT_FALSE(host_name(authority)) << authority;
    }
    EXPECT_NE(host_name("[]").value_or(""), "localhost");
}

HttpRequest request_with(Headers headers) {
    return {.method = "POST", .path = "/mcp", .headers = std::move(headers)};
}

const Gate& gate() {
    static const Gate gate({.token = std::string(kToken), .allowed_hosts = {"Bell.Example"}});
    return gate;
}

unsigned status_for_names(Headers headers) {
    const std::optional<HttpResponse> refusal =
        gate().check_names(request_with(std::move(headers)));
    return refusal ? refusal->status : 200;
}

unsigned status_for_host(std::string host) { return status_for_names({{"Host", std::move(host)}}); }

unsigned status_for_origin(std::string origin) {
    return status_for_names({{"Host", "localhost:8080"}, {"Origin", std::move(origin)}});
}

TEST(GateHost, LetsLoopbackAddressesAndAllowedNamesThrough) {
    for (const std::string& host :
         {"localhost", "localhost:8080", "LOCALHOST", "127.0.0.1", "127.0.0.1:8080", "[::1]:8080",
          "192.168.1.5:8080", "bell.example", "BELL.example:443", " localhost "}) {
        EXPECT_EQ(status_for_host(host), 200U) << host;
    }
}

TEST(GateHost, RefusesEveryOtherName) {
    for (const std::string& host :
         {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "bell.example.evil",
          "xbell.example", "", "localhost:", "user@localhost", "127.0.0.1 evil", "[::1",
          "[localhost.evil]", "[]", "localhost.", "127.1", "0x7f.1", "2130706433"}) {
        EXPECT_EQ(status_for_host(host), 403U) << host;
    }
}

TEST(GateHost, IsNotFooledByANulByte) {
    EXPECT_EQ(status_for_host(std::string("127.0.0.1\0.evil.example", 23)), 403U);
    EXPECT_EQ(status_for_host(std::string("localhost\0", 10)), 403U);
}

TEST(GateHost, IsNeededOnce) {
    EXPECT_EQ(status_for_names({}), 403U);
    EXPECT_EQ(status_for_names({{"Host", "localhost"}, {"Host", "evil.example"}}), 403U);
    EXPECT_EQ(status_for_names({{"Host", "localhost"}, {"host", "localhost"}}), 200U);
}

TEST(GateOrigin, LetsPagesOfThisMachineAndAllowedNamesThrough) {
    for (const std::string& origin :
         {"http://localhost", "http://localhost:3000", "https://localhost", "http://127.0.0.1:8080",
          "http://[::1]:8080", "https://bell.example", "https://BELL.EXAMPLE:8443"}) {
        EXPECT_EQ(status_for_origin(origin), 200U) << origin;
    }
}

TEST(GateOrigin, RefusesEveryOtherPage) {
    for (const std::string& origin :
         {"null", "", "http://", "http://evil.example", "https://evil.example:443",
          "http://localhost.evil.example", "file://", "file:///tmp/x", "chrome-extension://abc",
          "localhost", "//localhost", "ftp://localhost", "javascript:alert(1)",
          "http://localhost@evil.example", "http://evil.example/localhost", "http://localhost/x",
          "HTTP//localhost"}) {
        EXPECT_EQ(status_for_origin(origin), 403U) << origin;
    }
}

// A page needs no name: it can be served from any address of the internet, and its script then
// speaks to localhost through the user's browser.
TEST(GateOrigin, RefusesPagesOfOtherAddresses) {
    for (const std::string& origin : {"http://203.0.113.7", "https://203.0.113.7:8443",
                                      "http://[2001:db8::1]", "http://192.168.1.77"}) {
        EXPECT_EQ(status_for_origin(origin), 403U) << origin;
    }
}

TEST(GateOrigin, LetsAPageThroughThatThisServerGaveOut) {
    EXPECT_EQ(
        status_for_names({{"Host", "192.168.1.5:8080"}, {"Origin", "http://192.168.1.5:8080"}}),
        200U);
    EXPECT_EQ(status_for_names({{"Host", "bell.example"}, {"Origin", "https://bell.example"}}),
              200U);
}

TEST(GateOrigin, GivenTwiceMustAgree) {
    EXPECT_EQ(status_for_names({{"Host", "localhost"},
                                {"Origin", "http://localhost"},
                                {"Origin", "http://evil.example"}}),
              403U);
}

TEST(GateOrigin, DoesNotSaveABadHost) {
    EXPECT_EQ(status_for_names({{"Host", "evil.example"}, {"Origin", "http://localhost"}}), 403U);
}

TEST(GateNames, ARefusalIsJsonAndSaysWhatToDo) {
    const HttpResponse refusal =
        gate().check_names(request_with({{"Host", "evil.example"}})).value();
    EXPECT_EQ(refusal.content_type, "application/json");
    const json::value body = parse_json(refusal.body).value();
    EXPECT_NE(body.at("error").as_string().find("server.allowed_hosts"), std::string::npos);
    EXPECT_EQ(body.at("error").as_string().find("evil"), std::string::npos);
}

std::optional<HttpResponse> refusal_for(Headers headers) {
    return gate().check_token(request_with(std::move(headers)));
}

TEST(GateToken, LetsTheRightOneThrough) {
    const std::string token(kToken);
    for (const std::string& value :
         {"Bearer " + token, "bearer " + token, "BEARER " + token, "  Bearer " + token + "  "}) {
        EXPECT_FALSE(refusal_for({{"Authorization", value}})) << value;
    }
    EXPECT_FALSE(refusal_for({{"authorization", "Bearer " + token}}));
}

TEST(GateToken, RefusesEveryOther) {
    const std::string token(kToken);
    for (const std::string& value :
         {std::string(""), std::string("Bearer"), std::string("Bearer "), token, "Basic " + token,
          "Bearer" + token, "Bearer  " + token, "Bearer " + token + "x", "Bearer x" + token,
          "Bearer " + token.substr(1), "Bearer " + token.substr(0, 5),
          std::string("Bearer BJ_0123456789ABCDEF"), "Bearer " + token + " " + token,
          "Bearer " + token + ",", "Bearer\t" + token}) {
        const std::optional<HttpResponse> refusal = refusal_for({{"Authorization", value}});
        ASSERT_TRUE(refusal) << value;
        EXPECT_EQ(refusal->status, 401U);
    }
}

TEST(GateToken, SaysHowToSendOne) {
    const HttpResponse refusal = refusal_for({}).value();
    EXPECT_EQ(refusal.status, 401U);
    const std::vector<std::pair<std::string, std::string>> expected{
        {"WWW-Authenticate", "Bearer realm=\"belljar\""}};
    EXPECT_EQ(refusal.headers, expected);
    EXPECT_NE(refusal.body.find("Authorization: Bearer"), std::string::npos);
    EXPECT_EQ(refusal.body.find(kToken), std::string::npos);
}

TEST(GateToken, GivenTwiceMustAgree) {
    const std::string right = "Bearer " + std::string(kToken);
    EXPECT_TRUE(refusal_for({{"Authorization", right}, {"Authorization", "Bearer wrong"}}));
}

TEST(GateToken, TellsWhoseItIs) {
    const Gate shared({.token = "bj_main",
                       .named_tokens = {{.principal = "ada", .token = "bj_ada"},
                                        {.principal = "ben", .token = "bj_ben"},
                                        {.principal = "ada", .token = "bj_ada_next"}}});
    const auto principal_of = [&](const std::string& token) {
        const HttpRequest request = request_with({{"Authorization", "Bearer " + token}});
        const std::expected<Caller, HttpResponse> caller = shared.identify(request);
        EXPECT_TRUE(caller) << token;
        EXPECT_EQ(caller->rights, Rights::all());
        return caller->principal;
    };
    EXPECT_EQ(principal_of("bj_main"), "");
    EXPECT_EQ(principal_of("bj_ada"), "ada");
    EXPECT_EQ(principal_of("bj_ada_next"), "ada");
    EXPECT_EQ(principal_of("bj_ben"), "ben");
    for (const char* wrong : {"", "ada", "bj_", "ada:bj_ada", "bj_adabj_ben"}) {
        EXPECT_TRUE(
            shared.check_token(request_with({{"Authorization", "Bearer " + std::string(wrong)}})))
            << wrong;
    }
}

TEST(GateToken, IsNotAskedForIfThereIsNone) {
    const Gate open({});
    EXPECT_FALSE(open.check_token(request_with({})));
    EXPECT_FALSE(open.check_token(request_with({{"Authorization", "Bearer anything"}})));
    EXPECT_EQ(open.identify(request_with({{"Authorization", "Bearer "}}))->principal, "");
    EXPECT_TRUE(open.check_names(request_with({{"Host", "evil.example"}})))
        << "names are checked all the same";
}

HttpRequest local_request(std::string method, std::string path, Headers headers = {}) {
    headers.emplace("Host", "localhost:8080");
    return {.method = std::move(method), .path = std::move(path), .headers = std::move(headers)};
}

TEST(GateDoors, AnOpenOneAsksForNoToken) {
    HttpRequest request = local_request("GET", "/health");
    EXPECT_FALSE(gate().check(request, Gate::Door::Open));
    EXPECT_EQ(gate().check(request, Gate::Door::Guarded)->status, 401U);
    EXPECT_FALSE(gate().admit(request, Gate::Door::Open));
    EXPECT_TRUE(request.rights.empty()) << "nobody has been identified";
    request.headers.emplace("Authorization", "Bearer " + std::string(kToken));
    EXPECT_FALSE(gate().admit(request, Gate::Door::Guarded));
    EXPECT_EQ(request.rights, Rights::all());
}

TEST(GateDoors, ATokenInTheQueryIsNone) {
    HttpRequest request = local_request("GET", "/v1/runners");
    for (const std::string_view name : {"token", "access_token", "api_key"}) {
        request.query = std::string(name) + "=" + std::string(kToken);
        EXPECT_EQ(gate().check(request, Gate::Door::Guarded)->status, 401U) << name;
    }
}

TEST(GateDiscovery, ThereIsNothingToDiscoverWithoutAnAuthorizationServer) {
    for (const std::string& path :
         {"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
          "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration",
          "/register"}) {
        const std::optional<HttpResponse> answer =
            gate().check(local_request("GET", path), Gate::Door::Guarded);
        ASSERT_TRUE(answer) << path;
        EXPECT_EQ(answer->status, 404U) << path;
    }
    EXPECT_EQ(gate().check(local_request("GET", "/registers"), Gate::Door::Guarded)->status, 401U);
}

TEST(GatePages, AnAllowedOneIsAnsweredSoThatItCanRead) {
    const Headers page{{"Origin", "http://localhost:3000"}};
    const HttpResponse refusal =
        gate().check(local_request("GET", "/mcp", page), Gate::Door::Guarded).value();
    EXPECT_EQ(refusal.status, 401U);
    EXPECT_EQ(refusal.headers.at(1).first, "Access-Control-Allow-Origin");
    Headers question = page;
    question.emplace("Access-Control-Request-Method", "POST");
    EXPECT_EQ(gate().check(local_request("OPTIONS", "/mcp", question), Gate::Door::Guarded)->status,
              204U);
    question.erase("Origin");
    question.emplace("Origin", "http://evil.example");
    const HttpResponse foreign =
        gate().check(local_request("OPTIONS", "/mcp", question), Gate::Door::Guarded).value();
    EXPECT_EQ(foreign.status, 403U);
    EXPECT_TRUE(foreign.headers.empty());
}

TEST(MakeRefusal, IsAlwaysValidJson) {
    const HttpResponse refusal = make_refusal(418, "a \"quoted\"\n\xFF text");
    EXPECT_EQ(refusal.status, 418U);
    EXPECT_EQ(parse_json(refusal.body).value().at("error").as_string(),
              "a \"quoted\"\n\xEF\xBF\xBD text");
}

}  // namespace
}  // namespace belljar::access
