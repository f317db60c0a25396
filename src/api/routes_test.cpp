#include "api/routes.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json/object.hpp>

#include "base/json.h"
#include "base/utf8.h"

namespace belljar::api {
namespace {

using access::Headers;
using access::HttpRequest;
using access::HttpResponse;

// Answers as told and remembers what was asked.
class FakeExecutor : public engine::Executor {
   public:
    Task<Result<execution::RunResult>> execute(execution::RunRequest request,
                                               engine::CancellationPtr cancellation,
                                               engine::RunWatch watch) override {
        requests.push_back(std::move(request));
        last_cancellation = std::move(cancellation);
        if (watch.on_start && answer) {
            watch.on_start({.execution_id = "run-1", .language = "python"});
            for (const std::string& bytes : output) {
                watch.on_output(engine::OutputStream::Stdout, bytes);
            }
        }
        co_return answer;
    }
    Task<Result<execution::SessionView>> obey(execution::SessionOrder order) override {
        orders.push_back(std::move(order));
        co_return session;
    }
    [[nodiscard]] std::vector<execution::SessionView> list_sessions(
        const std::string& principal) const override {
        return principal.empty() ? std::vector{*session} : std::vector<execution::SessionView>{};
    }

    [[nodiscard]] engine::SandboxInfo info() const override { return {.version = "1.2.3"}; }
    [[nodiscard]] engine::RunFigures figures() const override {
        return {.admission = {.running = 3}};
    }

    Result<execution::RunResult> answer = execution::RunResult{
        .execution_id = "run-1", .language = "python", .status = execution::Status::Ok};
    Result<execution::SessionView> session = execution::SessionView{.session_id = "session-1"};
    std::vector<execution::SessionOrder> orders;
    std::vector<std::string> output;
    std::vector<execution::RunRequest> requests;
    engine::CancellationPtr last_cancellation;
};

class RoutesTest : public testing::Test {
   protected:
    HttpResponse handle(HttpRequest request) {
        asio::io_context context;
        std::future<HttpResponse> response = asio::co_spawn(
            context, routes.handle(std::move(request), cancellation), asio::use_future);
        context.run();
        return response.get();
    }

    HttpResponse post(std::string body, std::string type = "application/json") {
        return handle({.method = "POST",
                       .path = "/execute",
                       .headers = {{"Content-Type", std::move(type)}},
                       .body = std::move(body)});
    }

    unsigned status_for_error(ErrorCode code) {
        executor.answer = fail(code, "said to the client");
        return post(R"({"code":"1"})").status;
    }

    static std::string error_of(const HttpResponse& response) {
        const json::value body = parse_json(response.body).value();
        return std::string(body.at("error").as_string());
    }

    static std::string header_of(const HttpResponse& response, std::string_view name) {
        for (const auto& [key, value] : response.headers) {
            if (key == name) {
                return value;
            }
        }
        return "";
    }

    FakeExecutor executor;
    bool accepts_work = true;
    Routes routes{executor, [this] { return accepts_work; }};
    engine::CancellationPtr cancellation = std::make_shared<engine::Cancellation>();
};

TEST_F(RoutesTest, HealthIsAlwaysGood) {
    accepts_work = false;
    for (const std::string& method : {"GET", "HEAD"}) {
        const HttpResponse response = handle({.method = method, .path = "/health"});
        EXPECT_EQ(response.status, 200U);
        EXPECT_EQ(parse_json(response.body).value().at("status").as_string(), "healthy");
    }
}

TEST_F(RoutesTest, ReadyTellsWhetherWorkIsAccepted) {
    EXPECT_EQ(handle({.method = "GET", .path = "/ready"}).status, 200U);
    accepts_work = false;
    const HttpResponse response = handle({.method = "GET", .path = "/ready"});
    EXPECT_EQ(response.status, 503U);
    EXPECT_FALSE(error_of(response).empty());
}

TEST_F(RoutesTest, MetricsAreTextForPrometheus) {
    const HttpResponse response = handle({.method = "GET", .path = "/metrics"});
    EXPECT_EQ(response.status, 200U);
    EXPECT_EQ(response.content_type, "text/plain; version=0.0.4; charset=utf-8");
    EXPECT_NE(response.body.find("\nbelljar_build_info{version=\"1.2.3\"} 1\n"), std::string::npos);
    EXPECT_NE(response.body.find("\nbelljar_runs_running 3\n"), std::string::npos);
}

TEST_F(RoutesTest, OnlyWhatTellsNothingIsPublic) {
    for (const char* path :
         {"/", "/health", "/ready", "/openapi.json", "/docs", "/docs/docs.js", "/assets/any.js"}) {
        EXPECT_TRUE(routes.is_public({.path = path})) << path;
    }
    for (const std::string& path :
         {"/execute", "", "/health/", "/Health", "/health/../execute", "//health", "/ready/x",
          "/mcp", "/health%2f", "/metrics", "/docs/", "/docs/../metrics", "/v1/runs", "/v1/caller",
          "/assets", "/assets/a/b"}) {
        EXPECT_FALSE(routes.is_public({.path = path})) << path;
    }
}

TEST_F(RoutesTest, WhoNeedsNoTokenGetsNoBodyRead) {
    for (const char* path : {"/health", "/", "/openapi.json", "/assets/any.js"}) {
        for (const char* method : {"GET", "HEAD", "PUT"}) {
            const auto plan = routes.body_plan({.method = method, .path = path});
            ASSERT_TRUE(plan.has_value()) << method << " " << path;
            EXPECT_EQ(plan->limit.count, 0U) << method << " " << path;
        }
    }
    EXPECT_FALSE(routes.body_plan({.method = "POST", .path = "/execute"}).has_value());
    EXPECT_FALSE(routes.body_plan({.method = "PUT", .path = "/execute"}).has_value());
}

TEST_F(RoutesTest, WrongMethodsAreToldTheRightOnes) {
    for (const std::string& path : {"/health", "/ready", "/metrics"}) {
        for (const std::string& method : {"POST", "PUT", "DELETE", "OPTIONS", "get", ""}) {
            const HttpResponse response = handle({.method = method, .path = path});
            EXPECT_EQ(response.status, 405U) << method << path;
            EXPECT_EQ(header_of(response, "Allow"), "GET, HEAD");
        }
    }
    for (const std::string& method : {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "post"}) {
        const HttpResponse response = handle({.method = method, .path = "/execute"});
        EXPECT_EQ(response.status, 405U) << method;
        EXPECT_EQ(header_of(response, "Allow"), "POST");
    }
    EXPECT_TRUE(executor.requests.empty());
}

TEST_F(RoutesTest, OtherPathsAreNotFound) {
    for (const std::string& path : {"", "/nothing", "/execute/", "/EXECUTE", "/execute/../health",
                                    "*", "http://localhost/execute"}) {
        EXPECT_EQ(handle({.method = "POST", .path = path}).status, 404U) << path;
    }
}

TEST_F(RoutesTest, ExecuteAnswersWithTheRecord) {
    const HttpResponse response = post(R"({"code":"6*7","timeout":2})");
    EXPECT_EQ(response.status, 200U);
    EXPECT_EQ(response.content_type, "application/json");
    const json::value body = parse_json(response.body).value();
    EXPECT_EQ(body.at("execution_id").as_string(), "run-1");
    EXPECT_EQ(body.at("status").as_string(), "ok");
    ASSERT_EQ(executor.requests.size(), 1U);
    EXPECT_EQ(executor.requests[0].code, "6*7");
    EXPECT_EQ(executor.requests[0].timeout, Duration(std::chrono::seconds(2)));
    EXPECT_EQ(executor.last_cancellation, cancellation);
}

TEST_F(RoutesTest, AProgramThatFailedIsStillAnAnswer) {
    executor.answer->status = execution::Status::Timeout;
    EXPECT_EQ(post(R"({"code":"1"})").status, 200U);
}

TEST_F(RoutesTest, ExecuteWantsJson) {
    for (const std::string& type :
         {"", "text/plain", "application/x-www-form-urlencoded", "application/jsonx",
          "application/json+x", "json", "multipart/form-data; boundary=application/json"}) {
        EXPECT_EQ(post(R"({"code":"1"})", type).status, 415U) << type;
    }
    EXPECT_EQ(handle({.method = "POST", .path = "/execute", .body = R"({"code":"1"})"}).status,
              415U);
    EXPECT_EQ(
        handle({.method = "POST",
                .path = "/execute",
                .headers = {{"Content-Type", "application/json"}, {"Content-Type", "text/plain"}},
                .body = R"({"code":"1"})"})
            .status,
        415U);
    EXPECT_TRUE(executor.requests.empty());
    for (const std::string& type : {"application/json", "Application/JSON",
                                    "application/json; charset=utf-8", "application/json;x=y"}) {
        EXPECT_EQ(post(R"({"code":"1"})", type).status, 200U) << type;
    }
}

TEST_F(RoutesTest, MalformedBodiesAreRefusedInWords) {
    for (const std::string& body :
         {std::string(""), std::string("{"), std::string("null"), std::string("[]"),
          std::string("\"code\""), std::string("{}"), std::string(R"({"code":1})"),
          std::string(R"({"code":"1","code":"2"})"), std::string(R"({"code":"1"}x)"),
          std::string("{\"code\":\"\xFF\"}"), std::string(R"({"code":"a\u0000"})"),
          std::string(R"({"code":"1","files":{"../x":""}})"),
          std::string(R"({"code":"1","timeout":-1})"), std::string(R"({"code":"1","nonsense":1})"),
          "{\"code\":" + std::string(10'000, '[') + std::string(10'000, ']') + "}"}) {
        const HttpResponse response = post(body);
        EXPECT_EQ(response.status, 400U) << body.substr(0, 100);
        EXPECT_FALSE(error_of(response).empty());
        EXPECT_TRUE(is_valid_utf8(response.body));
    }
    EXPECT_TRUE(executor.requests.empty());
}

TEST_F(RoutesTest, WhatThisInstallationCannotDoIs422) {
    EXPECT_EQ(post(R"({"code":"1","capture_output":false})").status, 422U);
    EXPECT_EQ(status_for_error(ErrorCode::Unsupported), 422U);
}

TEST_F(RoutesTest, ErrorsOfTheEngineHaveTheirStatus) {
    EXPECT_EQ(status_for_error(ErrorCode::InvalidArgument), 400U);
    EXPECT_EQ(status_for_error(ErrorCode::Denied), 403U);
    EXPECT_EQ(status_for_error(ErrorCode::TooLarge), 413U);
    EXPECT_EQ(status_for_error(ErrorCode::Unavailable), 503U);
    EXPECT_EQ(status_for_error(ErrorCode::Internal), 500U);
    EXPECT_EQ(status_for_error(ErrorCode::Cancelled), 499U);
}

TEST_F(RoutesTest, OverloadSaysWhenToComeAgain) {
    executor.answer = fail({.code = ErrorCode::Overloaded,
                            .message = "too many runs",
                            .retry_after = std::chrono::seconds(7)});
    const HttpResponse response = post(R"({"code":"1"})");
    EXPECT_EQ(response.status, 503U);
    EXPECT_EQ(header_of(response, "Retry-After"), "7");
    EXPECT_EQ(error_of(response), "too many runs");
    executor.answer.error().code = ErrorCode::QuotaReached;
    EXPECT_EQ(post(R"({"code":"1"})").status, 429U);
    executor.answer = fail(ErrorCode::Unavailable, "gone");
    EXPECT_EQ(header_of(post(R"({"code":"1"})"), "Retry-After"), "") << "nobody knows";
}

TEST_F(RoutesTest, TheEngineLearnsWhoAsks) {
    handle({.principal = "ada",
            .method = "POST",
            .path = "/execute",
            .headers = {{"Content-Type", "application/json"}},
            .body = R"({"code":"1"})"});
    EXPECT_EQ(executor.requests.at(0).principal, "ada");
}

TEST_F(RoutesTest, FaultsOfOurOwnStayInTheLog) {
    executor.answer = fail(system_error("open /srv/secret", EACCES));
    const HttpResponse response = post(R"({"code":"1"})");
    EXPECT_EQ(response.status, 500U);
    EXPECT_EQ(response.body.find("/srv"), std::string::npos);
    EXPECT_EQ(response.body.find("ermission"), std::string::npos);
}

TEST_F(RoutesTest, AMessageCutInsideACharacterIsStillValidJson) {
    const std::string name = std::string(63, 'x') + "\xC3\xA9";
    const HttpResponse response = post("{\"code\":\"1\",\"" + name + "\":1}");
    EXPECT_EQ(response.status, 400U);
    EXPECT_TRUE(parse_json(response.body));
}

access::ResponseStreamPtr make_stream() {
    return std::make_shared<access::ResponseStream>(
        access::ResponseStream::Reader{.on_open = [] {}, .on_piece = [] {}});
}

TEST_F(RoutesTest, RunsAreStreamedToWhoWantsEvents) {
    const access::ResponseStreamPtr stream = make_stream();
    executor.output = {"one", "two"};
    handle({.method = "POST",
            .path = "/v1/runs",
            .headers = {{"Content-Type", "application/json"}, {"Accept", "text/event-stream"}},
            .body = R"({"code":"1"})",
            .stream = stream});
    const std::string events = stream->take();
    EXPECT_TRUE(events.starts_with("id: 1\nevent: started\n")) << events;
    EXPECT_NE(events.find("event: stdout\ndata: {\"text\":\"two\"}\n\n"), std::string::npos);
    EXPECT_NE(events.find("event: result\ndata: {\"execution_id\":\"run-1\""), std::string::npos);
}

TEST_F(RoutesTest, RefusedRunIsNoStream) {
    const access::ResponseStreamPtr stream = make_stream();
    executor.answer = fail(ErrorCode::Overloaded, "full");
    const HttpResponse response =
        handle({.method = "POST",
                .path = "/v1/runs",
                .headers = {{"Content-Type", "application/json"}, {"Accept", "text/event-stream"}},
                .body = R"({"code":"1"})",
                .stream = stream});
    EXPECT_FALSE(stream->is_open());
    EXPECT_EQ(response.status, 503U);
}

TEST_F(RoutesTest, BatchGivesResultsInOrder) {
    const HttpResponse response = handle({.principal = "ann",
                                          .method = "POST",
                                          .path = "/v1/runs:batch",
                                          .headers = {{"Content-Type", "application/json"}},
                                          .body = R"({"runs":[{"code":"1"},{"code":2}]})"});
    EXPECT_EQ(response.status, 200U);
    const json::value body = parse_json(response.body).value();
    EXPECT_EQ(body.at_pointer("/results/0/result/execution_id"), "run-1");
    EXPECT_EQ(body.at_pointer("/results/1/state"), "refused");
    ASSERT_EQ(executor.requests.size(), 1U);
    EXPECT_EQ(executor.requests[0].principal, "ann");
}

TEST_F(RoutesTest, BatchThatIsWrongAsAWholeIsRefused) {
    for (const std::string& body : {"[]", "{}", "{\"runs\":[]}", "nonsense"}) {
        const HttpResponse response = handle({.method = "POST",
                                              .path = "/v1/runs:batch",
                                              .headers = {{"Content-Type", "application/json"}},
                                              .body = body});
        EXPECT_EQ(response.status, 400U) << body;
    }
    EXPECT_EQ(handle({.method = "GET", .path = "/v1/runs:batch"}).status, 405U);
    EXPECT_EQ(handle({.method = "POST", .path = "/v1/runs:batch", .body = "{}"}).status, 415U);
}

class WatchTest : public RoutesTest {
   protected:
    // The events of a watcher that leaves as soon as `during` is done.
    std::string watch(HttpRequest request, const std::function<void()>& during = [] {}) {
        const access::ResponseStreamPtr stream = make_stream();
        request.method = "GET";
        request.path = "/mcp/events";
        request.stream = stream;
        asio::io_context context;
        const auto leave = std::make_shared<engine::Cancellation>();
        std::future<HttpResponse> response =
            asio::co_spawn(context, watching.handle(std::move(request), leave), asio::use_future);
        context.poll();
        during();
        leave->request();
        context.run();
        status = response.get().status;
        return stream->take();
    }
    void run(const std::string& principal) {
        const auto observation = feed.observe(principal);
        const engine::RunWatch told = observation->join({});
        told.on_start({.execution_id = "run-1", .language = "python"});
        told.on_output(engine::OutputStream::Stdout, "text");
        observation->finish(execution::RunResult{});
    }
    std::string id_of(int number) const { return feed.epoch() + "-" + std::to_string(number); }

    engine::RunFeed feed{{.remembered = 2, .watchers = 2}};
    Routes watching{executor, [] { return true; }, nullptr, &feed};
    unsigned status = 0;
};

TEST_F(WatchTest, TellsOfTheCallersRuns) {
    const std::string events = watch({.principal = "ann"}, [this] {
        run("ben");
        run("ann");
    });
    EXPECT_TRUE(events.starts_with(": connected\n\nid: " + id_of(1) + "\nevent: run_started\n"))
        << events;
    EXPECT_NE(events.find("id: " + id_of(2) + "\nevent: run_finished\n"), std::string::npos);
    EXPECT_EQ(events.find("run_output"), std::string::npos);
    EXPECT_EQ(events.find(id_of(3)), std::string::npos);
}

TEST_F(WatchTest, ShowsOutputIfAsked) {
    const std::string events = watch({.query = "output=1"}, [this] { run(""); });
    EXPECT_NE(events.find("event: run_output\ndata: {\"execution_id\":\"run-1\",\"stream\":"
                          "\"stdout\",\"text\":\"text\"}\n\n"),
              std::string::npos)
        << events;
}

TEST_F(WatchTest, ContinuesBehindTheLastEvent) {
    run("");
    EXPECT_EQ(watch({}), ": connected\n\n") << "who was not there missed nothing";
    std::string events = watch({.headers = {{"Last-Event-ID", id_of(1)}}});
    EXPECT_TRUE(events.starts_with(": connected\n\nid: " + id_of(2))) << events;
    run("");
    events = watch({.headers = {{"Last-Event-ID", id_of(1)}}});
    EXPECT_TRUE(events.starts_with(": connected\n\nevent: gap\ndata: {}\n\nid: " + id_of(3)))
        << events;
    for (const std::string& bad :
         std::vector<std::string>{"", "x", "0-0", "00000000-1", "-1", feed.epoch() + "-x"}) {
        events = watch({.headers = {{"Last-Event-ID", bad}}});
        EXPECT_TRUE(events.starts_with(": connected\n\nevent: gap\n")) << bad;
    }
}

TEST_F(WatchTest, RefusesWhatItDoesNotKnow) {
    watch({.query = "input=1"});
    EXPECT_EQ(status, 400U);
    EXPECT_EQ(handle({.method = "GET", .path = "/mcp/events"}).status, 404U) << "without a feed";
    EXPECT_EQ(handle({.method = "POST", .path = "/mcp/events"}).status, 405U);
}

TEST_F(WatchTest, WatchersAreBounded) {
    const auto first = feed.subscribe("", engine::RunFeed::Output::Left, [](const auto&) {});
    const auto second = feed.subscribe("", engine::RunFeed::Output::Left, [](const auto&) {});
    watch({});
    EXPECT_EQ(status, 503U);
}

}  // namespace
}  // namespace belljar::api
