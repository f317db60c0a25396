#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "mcp/json_rpc.h"
#include "mcp/revision.h"
#include "mcp/severity.h"

namespace belljar::mcp {

inline constexpr std::string_view kLogLevelKey = "io.modelcontextprotocol/logLevel";

// What a connection that lasts remembers between its requests.
struct ConnectionMemory {
    std::optional<Severity> log_level{};    // as logging/setLevel has said
    json::object capabilities{};            // as initialize has said
    std::string client{};                   // its name and version, as well
    std::set<std::string> subscriptions{};  // to resources, as resources/subscribe has said
};

// Sends a notification that belongs to one request, before its answer. False if the client does not
// keep up and it was not sent.
using Notify = std::function<bool(std::string)>;

// What a client wants to hear of while its request is being answered.
struct NoticeWishes {
    Revision revision = kModernRevision;
    json::value progress_token{};         // null: no progress
    std::optional<Severity> log_level{};  // nothing: no log messages

    [[nodiscard]] bool wants_progress() const { return !progress_token.is_null(); }
    [[nodiscard]] bool any() const { return wants_progress() || log_level.has_value(); }
};

// The wishes of a request: modern ones say all in their _meta; legacy ones leave the level to what
// the connection remembers, if it does.
[[nodiscard]] RpcResult<NoticeWishes> read_wishes(const json::object& params, Revision revision,
                                                  const ConnectionMemory* memory);

}  // namespace belljar::mcp
