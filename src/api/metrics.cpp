#include "api/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <vector>

#include "engine/grade.h"

namespace belljar::api {
namespace {

struct Label {
    std::string_view name;
    std::string_view value;
};

using Labels = std::vector<Label>;

// A backslash, a quotation mark and a line break are the three that would end a value early.
std::string escape(std::string_view value) {
    std::string escaped;
    for (const char letter : value) {
        if (letter == '\n') {
            escaped += "\\n";
            continue;
        }
        if (letter == '\\' || letter == '"') {
            escaped += '\\';
        }
        escaped += letter;
    }
    return escaped;
}

class Page {
   public:
    // `help` is one line.
    void begin(std::string_view name, std::string_view type, std::string_view help) {
        name_ = name;
        fmt::format_to(std::back_inserter(text_), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help,
                       type);
    }

    template <typename Number>
    void add(const Labels& labels, Number value) {
        add_sample("", labels, fmt::format("{}", value));
    }

    // One sample of a metric that has several, such as a histogram.
    template <typename Number>
    void add_part(std::string_view part, const Labels& labels, Number value) {
        add_sample(part, labels, fmt::format("{}", value));
    }

    [[nodiscard]] std::string take() { return std::move(text_); }

   private:
    void add_sample(std::string_view part, const Labels& labels, std::string_view value) {
        text_ += name_;
        text_ += part;
        char before = '{';
        for (const Label& label : labels) {
            fmt::format_to(std::back_inserter(text_), "{}{}=\"{}\"", before, label.name,
                           escape(label.value));
            before = ',';
        }
        fmt::format_to(std::back_inserter(text_), "{} {}\n", labels.empty() ? "" : "}", value);
    }

    std::string text_;
    std::string_view name_;
};

void add_isolation(Page& page, const execution::Isolation& isolation) {
    page.begin("belljar_isolation_info", "gauge", "The isolation that every run has.");
    page.add({{"grade", isolation.grade}, {"tier", isolation.tier}, {"mode", isolation.mode}}, 1);
    page.begin("belljar_isolation_layer_missing", "gauge",
               "Whether this layer of isolation is missing here.");
    for (const std::string_view layer : engine::layer_names()) {
        const bool missing = std::ranges::find(isolation.missing, layer) != isolation.missing.end();
        page.add({{"layer", layer}}, missing ? 1 : 0);
    }
}

void add_runs(Page& page, const engine::RunFigures& figures) {
    page.begin("belljar_runs_total", "counter", "Runs that ended, by what became of them.");
    for (const auto& [kind, count] : figures.ended) {
        page.add({{"language", kind.first}, {"status", execution::name_of(kind.second)}}, count);
    }
    page.begin("belljar_runs_refused_total", "counter", "Runs that were not begun or got lost.");
    for (const auto& [code, count] : figures.refused) {
        page.add({{"code", name_of(code)}}, count);
    }
}

// The samples of a histogram that has begun, or of one of those that it consists of.
void add_durations(Page& page, const engine::Durations& durations, const Labels& labels = {}) {
    const auto add_bucket = [&page, &labels](std::string_view end, std::uint64_t count) {
        Labels all = labels;
        all.push_back({"le", end});
        page.add_part("_bucket", all, count);
    };
    std::uint64_t so_far = 0;
    for (std::size_t index = 0; index < engine::kClassSeconds.size(); ++index) {
        so_far += durations.classes.at(index);
        add_bucket(fmt::format("{:g}", engine::kClassSeconds.at(index)), so_far);
    }
    so_far += durations.classes.back();
    add_bucket("+Inf", so_far);
    page.add_part("_sum", labels, to_seconds(durations.sum));
    page.add_part("_count", labels, so_far);
}

void add_steps(Page& page, const engine::RunFigures& figures) {
    page.begin("belljar_step_seconds", "histogram",
               "Where the time of runs went, one step after the other.");
    for (std::size_t index = 0; index < execution::kTimingSteps.size(); ++index) {
        const std::string_view step = execution::kTimingSteps.at(index).name;
        add_durations(page, figures.steps.at(index), {{"step", step}});
    }
}

void add_admission(Page& page, const engine::Admission::Figures& figures) {
    page.begin("belljar_runs_running", "gauge", "Runs that have a jar now.");
    page.add({}, figures.running);
    page.begin("belljar_runs_waiting", "gauge", "Runs that wait for a jar.");
    page.add({}, figures.waiting);
    page.begin("belljar_wait_seconds", "histogram", "How long runs waited before they began.");
    add_durations(page, figures.waits);
    page.begin("belljar_admission_refused_total", "counter",
               "Runs that were refused for lack of room, by what was used up.");
    for (const auto& [reason, count] : figures.refused) {
        page.add({{"reason", reason}}, count);
    }
}

// Each metric with all its languages, as the format wants it.
void add_pools(Page& page, const engine::RunFigures& figures) {
    page.begin("belljar_jars_ready", "gauge", "Jars that wait for a run.");
    for (const auto& [language, pool] : figures.pools) {
        page.add({{"language", language}}, pool.ready);
    }
    page.begin("belljar_jars_taken_total", "counter",
               "Runs by whether a jar was ready, none was, or their limits needed a new one.");
    for (const auto& [language, pool] : figures.pools) {
        page.add({{"language", language}, {"found", "ready"}}, pool.taken);
        page.add({{"language", language}, {"found", "none"}}, pool.missed);
        page.add({{"language", language}, {"found", "unfit"}}, pool.unfit);
    }
    page.begin("belljar_jars_made_ahead_total", "counter", "Jars that became ready.");
    for (const auto& [language, pool] : figures.pools) {
        page.add({{"language", language}}, pool.made);
    }
    page.begin("belljar_jars_lost_total", "counter", "Jars that ended before a run took them.");
    for (const auto& [language, pool] : figures.pools) {
        page.add({{"language", language}}, pool.lost);
    }
}

// Names that dashboards of other services ask for.
void add_sandbox(Page& page, const engine::RunFigures& figures) {
    page.begin("sandbox_executions_total", "counter", "Runs that ended.");
    for (const auto& [kind, count] : figures.ended) {
        page.add({{"language", kind.first}, {"status", execution::name_of(kind.second)}}, count);
    }
    page.begin("sandbox_execution_duration_seconds", "histogram",
               "How long runs took, by language.");
    for (const auto& [language, durations] : figures.wall_by_language) {
        add_durations(page, durations, {{"language", language}});
    }
    page.begin("sandbox_package_installs_total", "counter", "Packages that were installed.");
    page.add({}, 0);
    std::map<std::string_view, std::uint64_t> errors;
    for (const auto& [kind, count] : figures.ended) {
        if (kind.second != execution::Status::Ok) {
            errors[execution::name_of(kind.second)] += count;
        }
    }
    for (const auto& [code, count] : figures.refused) {
        errors[name_of(code)] += count;
    }
    page.begin("sandbox_errors_total", "counter", "Runs that failed or were refused, by why.");
    for (const auto& [type, count] : errors) {
        page.add({{"type", type}}, count);
    }
}

void add_amounts(Page& page, const engine::Amounts& amounts) {
    std::uint64_t so_far = 0;
    for (std::size_t index = 0; index < engine::kClassBytes.size(); ++index) {
        so_far += amounts.classes.at(index);
        page.add_part("_bucket", {{"le", fmt::format("{:g}", engine::kClassBytes.at(index))}},
                      so_far);
    }
    so_far += amounts.classes.back();
    page.add_part("_bucket", {{"le", "+Inf"}}, so_far);
    page.add_part("_sum", {}, amounts.sum);
    page.add_part("_count", {}, so_far);
}

void add_mcp(Page& page, const engine::McpFigures& figures) {
    page.begin("mcp_executions_total", "counter", "Runs that came by MCP.");
    for (const auto& [status, count] : figures.ended) {
        page.add({{"status", execution::name_of(status)}}, count);
    }
    page.add({{"status", "refused"}}, figures.refused);
    page.begin("mcp_execution_duration_seconds", "histogram", "How long they took.");
    add_durations(page, figures.wall);
    page.begin("mcp_execution_memory_bytes", "histogram", "Most memory that each of them had.");
    add_amounts(page, figures.memory);
}

void add_requests(Page& page, const access::RequestFigures& figures) {
    page.begin("belljar_http_requests_total", "counter", "HTTP requests that were answered.");
    for (const auto& [kind, count] : figures.answered) {
        page.add({{"operation", kind.first}, {"status", std::to_string(kind.second)}}, count);
    }
    page.begin("belljar_http_request_seconds", "histogram", "How long their answers took.");
    for (const auto& [operation, durations] : figures.times) {
        add_durations(page, durations, {{"operation", operation}});
    }
    page.begin("belljar_http_rate_limited_total", "counter",
               "HTTP requests that were refused because too many came.");
    page.add({}, figures.rate_limited);
    page.begin("belljar_http_received_bytes_total", "counter", "Bodies of requests.");
    page.add({}, figures.bytes_in);
    page.begin("belljar_http_sent_bytes_total", "counter", "Bodies of answers.");
    page.add({}, figures.bytes_out);
    page.begin("belljar_http_connections", "gauge", "Connections that are open now.");
    page.add({}, figures.connections);
}

void add_use(Page& page, const engine::RunFigures& figures) {
    page.begin("belljar_runs_by_protocol_total", "counter", "Runs that were asked for.");
    for (const auto& [protocol, count] : figures.by_protocol) {
        page.add({{"protocol", execution::name_of(protocol)}}, count);
    }
    page.begin("belljar_output_bytes_total", "counter", "What programs have written.");
    page.add({}, figures.output_bytes);
    page.begin("belljar_sessions", "gauge", "Sessions that are kept now.");
    page.add({}, figures.sessions);
}

}  // namespace

std::string render_metrics(const engine::SandboxInfo& info, const engine::RunFigures& figures,
                           const access::RequestFigures& requests) {
    Page page;
    page.begin("belljar_build_info", "gauge", "The version that runs here.");
    page.add({{"version", info.version}}, 1);
    add_isolation(page, info.isolation);
    add_runs(page, figures);
    page.begin("belljar_run_seconds", "histogram", "How long runs took by the clock on the wall.");
    add_durations(page, figures.wall);
    add_steps(page, figures);
    add_admission(page, figures.admission);
    add_pools(page, figures);
    page.begin("belljar_denials_total", "counter", "What programs were refused, by rule.");
    for (const auto& [rule, count] : figures.denials) {
        page.add({{"rule", rule}}, count);
    }
    add_use(page, figures);
    add_requests(page, requests);
    add_sandbox(page, figures);
    add_mcp(page, figures.mcp);
    return page.take();
}

std::string render_watching(const engine::RunFeed& feed) {
    Page page;
    page.begin("belljar_watch_failures_total", "counter",
               "Events that watchers of runs could not be told.");
    page.add({}, feed.failures());
    return page.take();
}

}  // namespace belljar::api
