#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
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
    std::string icon{};  // the address of a picture, if it has one
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

// Something to be heard.
struct Audio {
    std::string mime{};
    std::string data{};
};

// Where more is to be read, if it is wanted.
struct ResourceLink {
    std::string uri{};
    std::string name{};
    std::string description{};  // empty: the name says it all
    std::string mime{};
    std::optional<std::uint64_t> size{};  // in bytes, if it is known
};

// Something that has an address and a type, given whole.
struct EmbeddedResource {
    enum class Kind { Text, Blob };

    std::string uri{};
    std::string mime{};
    Kind kind = Kind::Text;
    std::string data{};
};

// What follows the text, in order.
using Content = std::variant<std::string, Picture, Audio, ResourceLink, EmbeddedResource>;

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
