#pragma once

#include <string>
#include <string_view>

#include "access/request_counters.h"
#include "engine/executor.h"
#include "engine/run_feed.h"

namespace belljar::api {

inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// What GET /metrics answers: Prometheus' text format 0.0.4. No label comes out of a request.
[[nodiscard]] std::string render_metrics(const engine::SandboxInfo& info,
                                         const engine::RunFigures& figures,
                                         const access::RequestFigures& requests = {});
// What it answers besides where runs can be watched.
[[nodiscard]] std::string render_watching(const engine::RunFeed& feed);

}  // namespace belljar::api
