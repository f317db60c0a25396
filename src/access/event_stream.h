#pragma once

#include <string>
#include <string_view>

#include "access/http_message.h"
#include "access/response_stream.h"

namespace belljar::access {

// One server-sent event.
struct ServerEvent {
    std::string id{};    // empty: none
    std::string name{};  // ours, never a caller's
    std::string data{};  // one line
};

[[nodiscard]] std::string format_event(const ServerEvent& event);
// The event that carries a message of MCP.
[[nodiscard]] std::string message_event(std::string message);

// Lines that clients ignore, and that keep a connection from looking dead.
inline constexpr std::string_view kKeepAliveComment = ": keep-alive\n\n";

[[nodiscard]] StreamHead event_stream_head();

// Whether the Accept header names text/event-stream itself; "*/*" says that anything will do, not
// that events are wanted.
[[nodiscard]] bool wants_events(const HttpRequest& request);

}  // namespace belljar::access
