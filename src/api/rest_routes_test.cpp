#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json/object.hpp>
#include <map>

#include "api/open_api.h"
#include "api/routes.h"
#include "base/json.h"

namespace belljar::api {
namespace {

using access::HttpRequest;
using access::HttpResponse;
using execution::RepeatClaim;
using execution::RepeatKey;
using execution::RunRecord;
using execution::RunState;
using execution::RunView;

// Remembers as told.
class FakeRuns : public engine::Runs {
   public:
    Task<Result<execution::RunPage>> list(execution::RunQuery query) override {
        queries.push_back(std::move(query));
        co_return page;
    }
    Task<Result<RunRecord>> find(std::optional<std::string> principal,
                                 std::string execution_id) override {
        if (principal != "ann" || execution_id != record.view.execution_id) {
            co_return fail(ErrorCode::NotFound, "there is no such run");
        }
        co_return record;
    }
    Task<Result<RunView>> cancel(std::optional<std::string> /*principal*/,
                                 std::string /*execution_id*/) override {
        if (record.view.state == RunState::Ended) {
            co_return fail(ErrorCode::Conflict, "the run has ended");
        }
        co_return record.view;
    }
    Task<Result<RunView>> start(execution::RunRequest request) override {
        started.push_back(std::move(request));
        co_return record.view;
    }

    std::vector<execution::RunQuery> queries;
    std::vector<execution::RunRequest> started;
    execution::RunPage page{.runs = {{.execution_id = "run-2", .principal = "ann"}}, .next = "a b"};
    RunRecord record{.view = {.execution_id = "run-1",
                              .principal = "ann",
                              .language = "python",
                              .state = RunState::Ended,
                              .status = execution::Status::Ok},
                     .result = R"({"stdout":"42\n"})"};
};

class FakeState : public engine::State {
   public:
    Task<Result<RepeatClaim>> claim(RepeatKey key) override {
        const auto known = keys.find({key.principal, key.key});
        if (known == keys.end()) {
            keys[{key.principal, key.key}] = {.digest = key.digest};
            co_return RepeatClaim{};
        }
        if (known->second.digest != key.digest) {
            co_return RepeatClaim{.kind = RepeatClaim::Kind::Different};
        }
        if (known->second.forgotten) {
            co_return RepeatClaim{.kind = RepeatClaim::Kind::Forgotten};
        }
        co_return RepeatClaim{.kind = known->second.answer ? RepeatClaim::Kind::Answered
                                                           : RepeatClaim::Kind::InProgress,
                              .answer = known->second.answer};
    }
    Task<Result<void>> settle(RepeatKey key, execution::StoredAnswer answer) override {
        keys.at({key.principal, key.key}).answer = std::move(answer);
        co_return Result<void>();
    }
    Task<Result<void>> release(RepeatKey key) override {
        keys.erase({key.principal, key.key});
        co_return Result<void>();
    }

    struct Entry {
        std::string digest{};
        std::optional<execution::StoredAnswer> answer{};
        bool forgotten = false;
    };
    std::map<std::pair<std::string, std::string>, Entry> keys;
};

class FakeExecutor : public engine::Executor {
   public:
    Task<Result<execution::RunResult>> execute(execution::RunRequest /*request*/,
                                               engine::CancellationPtr /*cancellation*/,
                                               engine::RunWatch /*watch*/) override {
        ++executed;
        meanwhile();
        co_return answer;
    }
    Task<Result<engine::RunPreview>> preview(execution::RunRequest request) override {
        if (request.language != "python") {
            co_return fail(ErrorCode::Unsupported, "unknown language");
        }
        co_return engine::RunPreview{.language = "python", .runner = "python-warm"};
    }
    [[nodiscard]] engine::Runs& runs() override { return remembered; }
    [[nodiscard]] engine::State& state() override { return kept; }
    [[nodiscard]] std::vector<execution::SessionView> list_sessions(
        const std::string& principal) const override {
        return principal == "ann" ? sessions : std::vector<execution::SessionView>{};
    }
    [[nodiscard]] engine::SandboxInfo info() const override {
        ++told;
        return {.version = "1.2.3",
                .runners = {{.language = "python", .aliases = {"py"}}, {.language = "ruby"}}};
    }
    [[nodiscard]] engine::RunFigures figures() const override { return {}; }

    FakeRuns remembered;
    FakeState kept;
    std::vector<execution::SessionView> sessions;
    Result<execution::RunResult> answer = execution::RunResult{.execution_id = "run-1"};
    int executed = 0;
    mutable int told = 0;  // how often it told of itself
    std::function<void()> meanwhile = [] {};
};

class RestRoutesTest : public testing::Test {
   protected:
    HttpResponse handle(HttpRequest request) {
        request.principal = request.principal.empty() ? "ann" : request.principal;
        caller = std::make_shared<engine::Cancellation>();
        asio::io_context context;
        std::future<HttpResponse> response =
            asio::co_spawn(context, routes.handle(std::move(request), caller), asio::use_future);
        context.run();
        return response.get();
    }
    HttpResponse get(std::string path, std::string query = "") {
        return handle({.method = "GET", .path = std::move(path), .query = std::move(query)});
    }
    HttpResponse post(std::string path, std::string body, access::Headers headers = {}) {
        headers.emplace("Content-Type", "application/json");
        return handle({.method = "POST",
                       .path = std::move(path),
                       .headers = std::move(headers),
                       .body = std::move(body)});
    }
    static std::string header_of(const HttpResponse& response, std::string_view name) {
        for (const auto& [key, value] : response.headers) {
            if (key == name) {
                return value;
            }
        }
        return "";
    }
    static json::value body_of(const HttpResponse& response) {
        return parse_json(response.body).value();
    }

    FakeExecutor executor;
    Routes routes{executor, [] { return true; }};
    engine::CancellationPtr caller;  // of the last request
};

TEST_F(RestRoutesTest, RunsAreListedInPages) {
    const HttpResponse response =
        get("/v1/runs", "limit=1&status=timeout&language=c%2B%2B&since=2026-01-31");
    ASSERT_EQ(response.status, 200U) << response.body;
    EXPECT_EQ(body_of(response).at_pointer("/runs/0/execution_id"), "run-2");
    EXPECT_EQ(body_of(response).at("next_cursor"), "a b");
    EXPECT_EQ(header_of(response, "Link"),
              "</v1/runs?limit=1&status=timeout&language=c%2B%2B&since=2026-01-31&cursor=a%20b>; "
              "rel=\"next\"");
    const execution::RunQuery& query = executor.remembered.queries.at(0);
    EXPECT_EQ(query.principal, "ann");
    EXPECT_EQ(query.limit, 1U);
    EXPECT_EQ(query.status, execution::Status::Timeout);
    EXPECT_EQ(query.language, "c++");
    EXPECT_TRUE(query.since.has_value());
}

TEST_F(RestRoutesTest, AFilterThatIsWrongIsRefused) {
    for (const char* query : {"limit=0", "limit=201", "status=good", "state=", "since=now",
                              "stauts=ok", "limit=1&limit=2", "principal=ben"}) {
        EXPECT_EQ(get("/v1/runs", query).status, 400U) << query;
    }
    EXPECT_TRUE(executor.remembered.queries.empty());
}

TEST_F(RestRoutesTest, OnlyAuditorsAskForEverybodysRuns) {
    EXPECT_EQ(handle({.rights = {access::Right::RunExec, access::Right::Operate},
                      .method = "GET",
                      .path = "/v1/audit"})
                  .status,
              403U);
    const HttpResponse all =
        handle({.rights = {access::Right::AuditRead}, .method = "GET", .path = "/v1/audit"});
    EXPECT_EQ(body_of(all).at_pointer("/records/0/principal"), "ann");
    EXPECT_FALSE(executor.remembered.queries.at(0).principal.has_value());
    get("/v1/audit", "principal=");
    EXPECT_EQ(executor.remembered.queries.at(1).principal, "");
}

TEST_F(RestRoutesTest, ARunIsShownWithItsResult) {
    const json::value run = body_of(get("/v1/runs/run-1"));
    EXPECT_EQ(run.at("state"), "ended");
    EXPECT_EQ(run.at_pointer("/result/stdout"), "42\n");
    EXPECT_FALSE(run.as_object().contains("principal"));
    executor.remembered.record.result.reset();
    EXPECT_TRUE(body_of(get("/v1/runs/run-1")).at("result").is_null());
    const HttpResponse other =
        handle({.principal = "ben", .method = "GET", .path = "/v1/runs/run-1"});
    EXPECT_EQ(other.status, 404U);
    EXPECT_EQ(other.body, get("/v1/runs/run-7").body);
}

TEST_F(RestRoutesTest, ARunIsCancelledUnlessItHasEnded) {
    EXPECT_EQ(post("/v1/runs/run-1/cancel", "").status, 409U);
    executor.remembered.record.view.state = RunState::Running;
    EXPECT_EQ(post("/v1/runs/run-1/cancel", "").status, 202U);
}

TEST_F(RestRoutesTest, ARunGoesOnInTheBackground) {
    HttpResponse begun = post("/v1/runs", R"({"code":"1","background":true})");
    EXPECT_EQ(begun.status, 202U);
    EXPECT_EQ(header_of(begun, "Location"), "/v1/runs/run-1");
    EXPECT_EQ(header_of(begun, "Preference-Applied"), "");
    begun = post("/v1/runs", R"({"code":"1"})", {{"Prefer", "wait=10, Respond-Async;x=1"}});
    EXPECT_EQ(begun.status, 202U);
    EXPECT_EQ(header_of(begun, "Preference-Applied"), "respond-async");
    EXPECT_EQ(executor.remembered.started.size(), 2U);
    EXPECT_EQ(executor.remembered.started[0].principal, "ann");
    EXPECT_EQ(executor.executed, 0);
    EXPECT_EQ(post("/v1/runs", R"({"code":"1"})", {{"Prefer", "respond-asynchronously"}}).status,
              200U);
    EXPECT_EQ(post("/v1/runs", R"({"code":"1","background":1})").status, 400U);
    EXPECT_EQ(post("/execute", R"({"code":"1","background":true})").status, 400U);
}

TEST_F(RestRoutesTest, APreviewRunsNothing) {
    const json::value allowed = body_of(post("/v1/policy/preview", R"({"code":"1"})"));
    EXPECT_EQ(allowed.at("allowed"), true);
    EXPECT_EQ(allowed.at("runner"), "python-warm");
    EXPECT_TRUE(allowed.at("limits").is_object());
    for (const char* body : {R"({"code":"1","language":"x"})", R"({"code":"1","timeout":-1})"}) {
        const json::value refused = body_of(post("/v1/policy/preview", body));
        EXPECT_EQ(refused.at("allowed"), false);
        EXPECT_FALSE(refused.at("reason").as_string().empty());
    }
    EXPECT_EQ(post("/v1/policy/preview", "[]").status, 400U);
    EXPECT_EQ(executor.executed, 0);
}

TEST_F(RestRoutesTest, TheSameKeyGivesTheSameAnswer) {
    const access::Headers key{{"Idempotency-Key", "k-1"}};
    const HttpResponse first = post("/v1/runs", R"({"code":"1"})", key);
    EXPECT_EQ(header_of(first, "Idempotency-Replayed"), "");
    const HttpResponse again = post("/v1/runs", R"({"code":"1"})", key);
    EXPECT_EQ(header_of(again, "Idempotency-Replayed"), "true");
    EXPECT_EQ(again.body, first.body);
    EXPECT_EQ(again.status, first.status);
    EXPECT_EQ(again.content_type, first.content_type);
    EXPECT_EQ(executor.executed, 1);
    EXPECT_EQ(post("/v1/runs", R"({"code":"2"})", key).status, 422U);
    EXPECT_EQ(post("/v1/runs:batch", R"({"code":"1"})", key).status, 422U);
    const HttpResponse other =
        handle({.principal = "ben",
                .method = "POST",
                .path = "/v1/runs",
                .headers = {{"Idempotency-Key", "k-1"}, {"Content-Type", "application/json"}},
                .body = R"({"code":"2"})"});
    EXPECT_EQ(other.status, 200U) << "keys are the principal's own";
}

TEST_F(RestRoutesTest, AKeyWhoseRequestIsUnderWayIsTaken) {
    post("/v1/runs", R"({"code":"1"})", {{"Idempotency-Key", "k"}});
    executor.kept.keys.begin()->second.answer.reset();
    const HttpResponse response = post("/v1/runs", R"({"code":"1"})", {{"Idempotency-Key", "k"}});
    EXPECT_EQ(response.status, 409U);
    EXPECT_EQ(header_of(response, "Retry-After"), "1");
}

TEST_F(RestRoutesTest, WhatWasDoneIsNotDoneAgainForAnAnswerThatIsNoLongerKept) {
    post("/v1/runs", R"({"code":"1"})", {{"Idempotency-Key", "k"}});
    executor.kept.keys.begin()->second.forgotten = true;
    const HttpResponse response = post("/v1/runs", R"({"code":"1"})", {{"Idempotency-Key", "k"}});
    EXPECT_EQ(response.status, 409U);
    EXPECT_NE(response.body.find("no longer kept"), std::string::npos) << response.body;
    EXPECT_EQ(executor.executed, 1);
}

TEST_F(RestRoutesTest, ARefusalForLackOfRoomFreesTheKey) {
    executor.answer = fail(ErrorCode::Overloaded, "full");
    EXPECT_EQ(post("/v1/runs", R"({"code":"1"})", {{"Idempotency-Key", "k"}}).status, 503U);
    EXPECT_TRUE(executor.kept.keys.empty());
    EXPECT_EQ(post("/v1/runs", "[]", {{"Idempotency-Key", "k"}}).status, 400U);
    EXPECT_EQ(executor.kept.keys.size(), 1U) << "the request itself is wrong";
}

TEST_F(RestRoutesTest, ACallerWhoLeavesBeforeItsRunIsOverFreesTheKey) {
    const access::Headers key{{"Idempotency-Key", "k"}};
    executor.answer->status = execution::Status::Cancelled;
    EXPECT_EQ(body_of(post("/v1/runs", R"({"code":"1"})", key)).at("status"), "cancelled");
    EXPECT_TRUE(executor.kept.keys.empty());
    executor.meanwhile = [this] { caller->request(); };
    EXPECT_EQ(post("/v1/runs:batch", R"({"runs":[{"code":"1"}]})", key).status, 200U);
    EXPECT_TRUE(executor.kept.keys.empty());
    executor.answer->status = execution::Status::Ok;
    post("/v1/runs", R"({"code":"1"})", key);
    EXPECT_EQ(header_of(post("/v1/runs", R"({"code":"1"})", key), "Idempotency-Replayed"), "true")
        << "it was over before";
}

TEST_F(RestRoutesTest, KeysAreVisibleCharactersAndNotForStreams) {
    for (const std::string& key :
         {std::string(), std::string("a b"), std::string(256, 'k'), std::string("\xC3\xA9")}) {
        EXPECT_EQ(post("/v1/runs", R"({"code":"1"})", {{"Idempotency-Key", key}}).status, 400U)
            << key;
    }
    EXPECT_EQ(post("/v1/runs", R"({"code":"1"})",
                   {{"Idempotency-Key", "k"}, {"Accept", "text/event-stream"}})
                  .status,
              400U);
    EXPECT_EQ(executor.executed, 0);
    EXPECT_EQ(post("/execute", R"({"code":"1"})", {{"Idempotency-Key", ""}}).status, 200U);
}

TEST_F(RestRoutesTest, SessionsAreListedInPages) {
    for (const char* id : {"c", "a", "b"}) {
        executor.sessions.push_back({.session_id = id, .language = "python"});
    }
    const json::value first = body_of(get("/v1/sessions", "limit=2"));
    EXPECT_EQ(first.at_pointer("/sessions/0/session_id"), "a");
    EXPECT_EQ(first.at("sessions").as_array().size(), 2U);
    EXPECT_EQ(first.at("next_cursor"), "b");
    const json::value second = body_of(get("/v1/sessions", "limit=2&cursor=b"));
    EXPECT_EQ(second.at_pointer("/sessions/0/session_id"), "c");
    EXPECT_TRUE(second.at("next_cursor").is_null());
    EXPECT_EQ(get("/v1/sessions/a").status, 200U);
    EXPECT_EQ(handle({.principal = "ben", .method = "GET", .path = "/v1/sessions/a"}).body,
              get("/v1/sessions/x").body);
}

TEST_F(RestRoutesTest, ARunnerIsFoundByAnyNameOfIt) {
    EXPECT_EQ(body_of(get("/v1/runners/py")).at("language"), "python");
    EXPECT_EQ(get("/v1/runners/cobol").status, 404U);
}

TEST_F(RestRoutesTest, WhatTheCallerHasIsNotSentAgain) {
    for (const char* path : {"/v1/runners", "/v1/runners/ruby", "/openapi.json", "/docs"}) {
        const HttpResponse first = get(path);
        const std::string tag = header_of(first, "ETag");
        ASSERT_FALSE(tag.empty()) << path;
        for (const std::string& known : {tag, "\"x\", W/" + tag, std::string("*")}) {
            const HttpResponse again =
                handle({.method = "GET", .path = path, .headers = {{"If-None-Match", known}}});
            EXPECT_EQ(again.status, 304U) << known;
            EXPECT_TRUE(again.body.empty());
        }
        EXPECT_EQ(
            handle({.method = "GET", .path = path, .headers = {{"If-None-Match", "\"x\""}}}).status,
            200U);
    }
}

TEST_F(RestRoutesTest, WithoutADataDirectoryNothingIsKept) {
    for (const char* path : {"/v1/conversations", "/v1/conversations/x", "/v1/usage"}) {
        EXPECT_EQ(get(path).status, 422U) << path;
    }
    EXPECT_EQ(post("/v1/conversations", "{}").status, 422U);
    EXPECT_EQ(post("/v1/conversations", R"({"conversation_id":5})").status, 400U);
    EXPECT_EQ(post("/v1/conversations", R"({"id":"x"})").status, 400U);
}

TEST_F(RestRoutesTest, ThePageReachesNobodyElse) {
    const HttpResponse page = get("/docs");
    EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
    EXPECT_TRUE(header_of(page, "Content-Security-Policy").starts_with("default-src 'none';"));
    for (const char* path : {"/docs", "/docs/docs.js", "/docs/docs.css"}) {
        EXPECT_EQ(get(path).body.find("://"), std::string::npos) << path;
    }
}

TEST_F(RestRoutesTest, TheDescriptionIsMadeOnce) {
    const HttpResponse first = get("/openapi.json");
    const HttpResponse second = get("/openapi.json");
    EXPECT_EQ(second.body, first.body);
    EXPECT_EQ(header_of(second, "ETag"), header_of(first, "ETag"));
    EXPECT_EQ(executor.told, 1);
}

TEST_F(RestRoutesTest, TheDescriptionSaysWhereAKeyMayBe) {
    OperationTable table;
    table.add({.id = "createRun", .method = "POST", .path = "/v1/runs"});
    table.add({.id = "createToken", .method = "POST", .path = "/v1/admin/tokens"});
    table.add({.id = "execute", .method = "POST", .path = "/execute"});
    const json::value paths = describe(table, "1").at("paths");
    EXPECT_EQ(paths.at_pointer("/~1v1~1runs/post/parameters/0/name"), "Idempotency-Key");
    EXPECT_FALSE(paths.at_pointer("/~1v1~1admin~1tokens/post").as_object().contains("parameters"));
    EXPECT_FALSE(paths.at_pointer("/~1execute/post").as_object().contains("parameters"));
}

// Every schema that is referred to is there, and every operation says what is needed.
TEST_F(RestRoutesTest, TheDescriptionIsWhole) {
    const std::string text = to_text(describe(routes.table(), "1"));
    constexpr std::string_view kBefore = "#/components/schemas/";
    for (std::size_t at = text.find(kBefore); at != std::string::npos;
         at = text.find(kBefore, at + 1)) {
        const std::size_t begin = at + kBefore.size();
        const std::string name = text.substr(begin, text.find('"', begin) - begin);
        EXPECT_TRUE(routes.table().schemas().contains(name)) << name;
    }
    for (const auto& operation : routes.table().operations()) {
        EXPECT_FALSE(operation->answers.empty()) << operation->id;
        EXPECT_FALSE(operation->summary.empty()) << operation->id;
    }
}

}  // namespace
}  // namespace belljar::api
