#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "mcp/revision.h"

namespace belljar::mcp {

// Who this server says it is.
struct Identity {
    std::string name = "belljar";
    std::string title = "Belljar";
    std::string version{};
};

// Results as the methods give them, free of any revision's wire form; encode() adds that.

struct Discovery {};

struct Handshake {
    Revision revision = kNewestLegacyRevision;
    bool logging = false;  // whether the client may set a log level
};

struct Acknowledgement {};

// What a tool is, in full; older revisions are told less.
struct ToolDefinition {
    std::string name{};  // at most 64 characters
    std::string title{};
    std::string description{};
    json::object input_schema{};
    json::object output_schema{};
    json::object annotations{};
};

struct ToolList {
    std::vector<ToolDefinition> tools{};
};

// The member of a failed tool's `_meta` that says when to try again.
inline constexpr std::string_view kRetryAfterKey = "belljar/retry_after_seconds";

// A picture for the model.
struct Picture {
    std::string mime{};
    std::string data{};  // its bytes
};

// What follows the text: pictures and further texts, in order.
using Content = std::variant<std::string, Picture>;

// What a tool gave back. A failed one tells the model what to do next.
struct ToolOutcome {
    std::string text{};
    std::vector<Content> more{};
    std::optional<json::object> structured{};  // satisfies the tool's output schema
    bool failed = false;
    std::chrono::seconds retry_after{};  // when to try again; zero: nobody knows
};

using Answer = std::variant<Discovery, Handshake, Acknowledgement, ToolList, ToolOutcome>;

// The `result` member for a client of the given revision.
[[nodiscard]] json::object encode(const Answer& answer, Revision revision,
                                  const Identity& identity);

}  // namespace belljar::mcp
