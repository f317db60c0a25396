#include "access/event_stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/assert.h"

namespace belljar::access {
namespace {

constexpr std::string_view kEventStream = "text/event-stream";

bool equal_ignoring_case(std::string_view left, std::string_view right) {
    const LessIgnoringCase less;
    return !less(left, right) && !less(right, left);
}

// "q=0", "q=0.0": the one way to say that a type is not wanted.
bool refuses(std::string_view parameters) {
    while (!parameters.empty()) {
        const std::size_t end = std::min(parameters.find(';'), parameters.size());
        const std::string_view parameter = trim(parameters.substr(0, end));
        if (parameter.size() >= 3 && equal_ignoring_case(parameter.substr(0, 2), "q=") &&
            parameter.substr(2).find_first_not_of("0.") == std::string_view::npos) {
            return true;
        }
        parameters.remove_prefix(std::min(end + 1, parameters.size()));
    }
    return false;
}

bool names_events(std::string_view ranges) {
    while (!ranges.empty()) {
        const std::size_t end = std::min(ranges.find(','), ranges.size());
        const std::string_view range = ranges.substr(0, end);
        const std::size_t semicolon = std::min(range.find(';'), range.size());
        if (equal_ignoring_case(trim(range.substr(0, semicolon)), kEventStream)) {
            return !refuses(range.substr(semicolon));
        }
        ranges.remove_prefix(std::min(end + 1, ranges.size()));
    }
    return false;
}

}  // namespace

std::string format_event(const ServerEvent& event) {
    BJ_ASSERT(event.data.find('\n') == std::string::npos);
    const std::string id = event.id.empty() ? "" : fmt::format("id: {}\n", event.id);
    return fmt::format("{}event: {}\ndata: {}\n\n", id, event.name, event.data);
}

std::string message_event(std::string message) {
    return format_event({.name = "message", .data = std::move(message)});
}

StreamHead event_stream_head() {
    // The last one keeps reverse proxies from collecting events before they pass them on.
    return {.content_type = std::string(kEventStream),
            .headers = {{"X-Accel-Buffering", "no"}},
            .keep_alive = std::string(kKeepAliveComment)};
}

bool wants_events(const HttpRequest& request) {
    const auto [begin, end] = request.headers.equal_range("Accept");
    return std::any_of(begin, end, [](const auto& header) { return names_events(header.second); });
}

}  // namespace belljar::access
