#include "api/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include "engine/grade.h"

namespace belljar::api {
namespace {

using execution::Status;

engine::SandboxInfo sandbox() {
    return {.version = "1.2.3",
            .isolation = {.grade = "standard",
                          .tier = "kernel",
                          .mode = "rootless",
                          .missing = {"landlock", "cpu_share"}}};
}

std::vector<std::string> lines_of(const std::string& page) {
    std::vector<std::string> lines;
    std::istringstream stream(page);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

bool has_line(const std::string& page, std::string_view line) {
    const std::vector<std::string> lines = lines_of(page);
    return std::ranges::find(lines, line) != lines.end();
}

TEST(Metrics, TellWhatRunsHereAndHowItIsIsolated) {
    const std::string page = render_metrics(sandbox(), {});
    EXPECT_TRUE(has_line(page, R"(belljar_build_info{version="1.2.3"} 1)"));
    EXPECT_TRUE(has_line(
        page, R"(belljar_isolation_info{grade="standard",tier="kernel",mode="rootless"} 1)"));
}

TEST(Metrics, EveryLayerIsMissingOrNot) {
    const std::string page = render_metrics(sandbox(), {});
    EXPECT_TRUE(has_line(page, R"(belljar_isolation_layer_missing{layer="landlock"} 1)"));
    EXPECT_TRUE(has_line(page, R"(belljar_isolation_layer_missing{layer="cpu_share"} 1)"));
    EXPECT_TRUE(has_line(page, R"(belljar_isolation_layer_missing{layer="seccomp"} 0)"));
    EXPECT_GE(engine::layer_names().size(), 10U);
    for (const std::string_view layer : engine::layer_names()) {
        EXPECT_NE(page.find("{layer=\"" + std::string(layer) + "\"}"), std::string::npos) << layer;
    }
}

TEST(Metrics, RunsHaveTheirLanguageAndStatus) {
    const std::string page = render_metrics(
        sandbox(), {.ended = {{{"python", Status::Ok}, 7}, {{"python", Status::Timeout}, 2}},
                    .refused = {{ErrorCode::Overloaded, 5}},
                    .denials = {{"limits.timeout", 2}}});
    EXPECT_TRUE(has_line(page, R"(belljar_runs_total{language="python",status="ok"} 7)"));
    EXPECT_TRUE(has_line(page, R"(belljar_runs_total{language="python",status="timeout"} 2)"));
    EXPECT_TRUE(has_line(page, R"(belljar_runs_refused_total{code="overloaded"} 5)")) << page;
    EXPECT_TRUE(has_line(page, R"(belljar_denials_total{rule="limits.timeout"} 2)"));
}

TEST(Metrics, TellHowManyWaitHowLongAndWhoIsRefused) {
    engine::RunFigures figures{
        .admission = {.running = 3, .waiting = 4, .refused = {{"queue_full", 5}}}};
    figures.admission.waits.add(std::chrono::milliseconds(500));
    figures.admission.waits.add(std::chrono::milliseconds(0));
    const std::string page = render_metrics(sandbox(), figures);
    EXPECT_TRUE(has_line(page, "belljar_runs_running 3"));
    EXPECT_TRUE(has_line(page, "belljar_runs_waiting 4"));
    EXPECT_TRUE(has_line(page, R"(belljar_admission_refused_total{reason="queue_full"} 5)"));
    EXPECT_TRUE(has_line(page, R"(belljar_wait_seconds_bucket{le="0.01"} 1)"));
    EXPECT_TRUE(has_line(page, R"(belljar_wait_seconds_bucket{le="0.5"} 2)"));
    EXPECT_TRUE(has_line(page, "belljar_wait_seconds_sum 0.5"));
    EXPECT_TRUE(has_line(page, "belljar_wait_seconds_count 2"));
}

TEST(Metrics, TellHowJarsMadeAheadServe) {
    const std::string page = render_metrics(
        sandbox(),
        {.pools = {
             {"python", {.ready = 2, .taken = 3, .missed = 4, .unfit = 5, .made = 6, .lost = 7}}}});
    EXPECT_TRUE(has_line(page, R"(belljar_jars_ready{language="python"} 2)"));
    EXPECT_TRUE(has_line(page, R"(belljar_jars_taken_total{language="python",found="ready"} 3)"));
    EXPECT_TRUE(has_line(page, R"(belljar_jars_taken_total{language="python",found="none"} 4)"));
    EXPECT_TRUE(has_line(page, R"(belljar_jars_taken_total{language="python",found="unfit"} 5)"));
    EXPECT_TRUE(has_line(page, R"(belljar_jars_made_ahead_total{language="python"} 6)"));
    EXPECT_TRUE(has_line(page, R"(belljar_jars_lost_total{language="python"} 7)"));
}

TEST(Metrics, TellWhereTheTimeWent) {
    engine::RunFigures figures;
    figures.steps[2].add(std::chrono::milliseconds(2));
    const std::string page = render_metrics(sandbox(), figures);
    const std::string step = R"({step="guest_start",le=")";
    EXPECT_TRUE(has_line(page, "belljar_step_seconds_bucket" + step + R"(0.001"} 0)"));
    EXPECT_TRUE(has_line(page, "belljar_step_seconds_bucket" + step + R"(0.0025"} 1)"));
    EXPECT_TRUE(has_line(page, R"(belljar_step_seconds_sum{step="guest_start"} 0.002)"));
    EXPECT_TRUE(has_line(page, R"(belljar_step_seconds_count{step="admission"} 0)"));
}

TEST(Metrics, BucketsAddUp) {
    engine::RunFigures figures;
    figures.wall.classes.front() = 1;
    figures.wall.classes[6] = 2;
    figures.wall.classes.back() = 4;
    figures.wall.sum = std::chrono::milliseconds(1500);
    const std::string page = render_metrics(sandbox(), figures);
    EXPECT_TRUE(has_line(page, R"(belljar_run_seconds_bucket{le="0.0005"} 1)"));
    EXPECT_TRUE(has_line(page, R"(belljar_run_seconds_bucket{le="0.05"} 1)"));
    EXPECT_TRUE(has_line(page, R"(belljar_run_seconds_bucket{le="0.1"} 3)"));
    EXPECT_TRUE(has_line(page, R"(belljar_run_seconds_bucket{le="300"} 3)"));
    EXPECT_TRUE(has_line(page, R"(belljar_run_seconds_bucket{le="+Inf"} 7)"));
    EXPECT_TRUE(has_line(page, "belljar_run_seconds_sum 1.5"));
    EXPECT_TRUE(has_line(page, "belljar_run_seconds_count 7"));
}

bool is_ours(std::string_view line) {
    constexpr std::array<std::string_view, 4> kBeginnings{"belljar_", "sandbox_", "mcp_", "# "};
    return std::ranges::any_of(
        kBeginnings, [line](std::string_view beginning) { return line.starts_with(beginning); });
}

TEST(Metrics, HostileTextStaysInsideItsLabel) {
    const std::string hostile = "a\"} 1\nforged_total 9\\";
    const std::string page = render_metrics(
        {.version = hostile}, {.ended = {{{hostile, Status::Ok}, 1}}, .denials = {{hostile, 1}}});
    const std::string escaped = R"(a\"} 1\nforged_total 9\\)";
    EXPECT_TRUE(has_line(page, "belljar_build_info{version=\"" + escaped + "\"} 1"));
    EXPECT_TRUE(has_line(page, "belljar_runs_total{language=\"" + escaped + "\",status=\"ok\"} 1"));
    EXPECT_TRUE(has_line(page, "belljar_denials_total{rule=\"" + escaped + "\"} 1"));
    EXPECT_FALSE(has_line(page, "forged_total 9\\\"} 1"));
    for (const std::string& line : lines_of(page)) {
        EXPECT_TRUE(is_ours(line)) << line;
    }
}

TEST(Metrics, EveryMetricIsExplainedOnceBeforeItsSamples) {
    const std::string page = render_metrics(sandbox(), {.ended = {{{"python", Status::Ok}, 1}}});
    EXPECT_TRUE(page.ends_with("\n"));
    std::set<std::string> explained;
    std::string current;
    for (const std::string& line : lines_of(page)) {
        std::istringstream words(line);
        std::string first;
        std::string second;
        words >> first >> second >> current;
        if (first == "#" && second == "HELP") {
            EXPECT_TRUE(explained.insert(current).second) << line;
        }
    }
    EXPECT_EQ(explained.size(), 32U);
}

TEST(Metrics, HaveTheNamesThatDashboardsOfOthersAskFor) {
    engine::RunCounters counters;
    counters.count({.language = "python", .status = Status::Ok, .usage = {.memory_peak_bytes = 5}},
                   execution::Protocol::Mcp);
    counters.count({.language = "python", .status = Status::Timeout}, execution::Protocol::Rest);
    counters.count_refusal(ErrorCode::Overloaded, execution::Protocol::Mcp);
    const std::string page = render_metrics(sandbox(), counters.figures());
    for (const std::string_view line :
         {R"(sandbox_executions_total{language="python",status="ok"} 1)",
          R"(sandbox_execution_duration_seconds_count{language="python"} 2)",
          "sandbox_package_installs_total 0", R"(sandbox_errors_total{type="timeout"} 1)",
          R"(sandbox_errors_total{type="overloaded"} 1)", R"(mcp_executions_total{status="ok"} 1)",
          R"(mcp_executions_total{status="refused"} 1)", "mcp_execution_duration_seconds_count 1",
          R"(mcp_execution_memory_bytes_bucket{le="1e+06"} 1)", "mcp_execution_memory_bytes_sum 5",
          R"(belljar_runs_by_protocol_total{protocol="mcp"} 2)"}) {
        EXPECT_TRUE(has_line(page, line)) << line;
    }
}

TEST(Metrics, TellHowRequestsWereAnswered) {
    access::RequestCounters counters;
    counters.count({.operation = "createRun",
                    .status = 200,
                    .time = std::chrono::milliseconds(2),
                    .bytes_in = 3,
                    .bytes_out = 4});
    counters.count_rate_limited();
    counters.ask_connections([] { return std::size_t{7}; });
    const std::string page = render_metrics(sandbox(), {}, counters.figures());
    for (const std::string_view line :
         {R"(belljar_http_requests_total{operation="createRun",status="200"} 1)",
          R"(belljar_http_request_seconds_bucket{operation="createRun",le="0.001"} 0)",
          R"(belljar_http_request_seconds_bucket{operation="createRun",le="0.0025"} 1)",
          "belljar_http_rate_limited_total 1", "belljar_http_received_bytes_total 3",
          "belljar_http_sent_bytes_total 4", "belljar_http_connections 7"}) {
        EXPECT_TRUE(has_line(page, line)) << line;
    }
}

}  // namespace
}  // namespace belljar::api
