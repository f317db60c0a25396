#pragma once

#include <optional>

#include "access/http_message.h"
#include "access/trace_context.h"
#include "execution/request.h"

namespace belljar::access {

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
    set_trace(run, request.trace);
}

}  // namespace belljar::access
