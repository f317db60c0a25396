#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace belljar::access {

// The place of a request in a trace that its caller keeps, by W3C Trace Context. Every part has
// been checked: these may stand in headers, logs and environments.
struct TraceContext {
    std::string trace_id{};   // 32 hexadecimal digits
    std::string parent_id{};  // 16, the caller's
    std::string span_id{};    // 16, ours
    std::string flags{};      // 2
    std::string state{};      // the caller's tracestate; empty if there is none that is valid

    // traceparent for whatever this request lets happen, and for the answer.
    [[nodiscard]] std::string as_parent() const {
        return "00-" + trace_id + "-" + span_id + "-" + flags;
    }
};

// Nothing if `traceparent` is not valid: it is then as if there were none. A new span is made.
[[nodiscard]] std::optional<TraceContext> parse_trace(std::string_view traceparent,
                                                      std::string_view tracestate);

}  // namespace belljar::access
