#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "access/http_message.h"
#include "access/trace_context.h"
#include "execution/request.h"

namespace belljar::access {

// Where a request comes from, as far as that is known.
struct Origin {
    std::string client{};   // what it says of itself
    std::string address{};  // not read from what it sends, or named by a trusted proxy
    std::vector<std::string> tool_sets{};  // as in Caller
};

[[nodiscard]] inline Origin origin_of(const HttpRequest& request) {
    return {.client = request.header("User-Agent").value_or(""),
            .address = request.client,
            .tool_sets = request.tool_sets};
}

inline void set_trace(execution::RunRequest& run, const std::optional<TraceContext>& trace) {
    if (trace) {
        run.trace = trace->trace_id;
        run.trace_parent = trace->as_parent();
    }
}

// Writes into a run who asks for it and to which trace it belongs. For whatever makes runs out of
// HTTP requests.
inline void set_origin(execution::RunRequest& run, const HttpRequest& request) {
    run.principal = request.principal;
    Origin origin = origin_of(request);
    run.client = std::move(origin.client);
    run.address = std::move(origin.address);
    run.tool_sets = std::move(origin.tool_sets);
    run.tool = request.method + " " + request.path;
    set_trace(run, request.trace);
}

}  // namespace belljar::access
