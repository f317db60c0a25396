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

// What the server offers besides what it always does.
struct Offers {
    bool list_changes = false;  // of tools and prompts
    json::object extensions{};  // by name, with their settings
};

struct Discovery {
    Offers offers{};
};

struct Handshake {
    Revision revision = kNewestLegacyRevision;
    Offers offers{};
};

struct Acknowledgement {};

// Whether a call may go on as a task, if the client knows tasks: never, once it takes long, at
// once, only so, or only so once its client has answered what it asks first.
enum class TaskUse { Never, WhenLong, Always, Required, RequiredAfterInput };

// What a tool is, in full; older revisions are told less.
struct ToolDefinition {
    std::string name{};  // at most 64 characters
    std::string title{};
    std::string description{};
    json::object input_schema{};
    json::object output_schema{};
    json::object annotations{};
    json::object meta{};
    TaskUse tasks = TaskUse::Never;
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
    std::string text{};  // may be empty if there is more
    std::vector<Content> more{};
    std::optional<json::object> structured{};  // satisfies the tool's output schema
    bool failed = false;
    std::chrono::seconds retry_after{};  // when to try again; zero: nobody knows
};

using Answer = std::variant<Discovery, Handshake, Acknowledgement, ToolList, ToolOutcome>;

// How long, and for whom, a client may keep a result.
struct Caching {
    std::chrono::milliseconds lifetime{};
    enum class Scope { Public, Private } scope = Scope::Private;
};

// The members that every result of the revision has, added to one that is ready otherwise.
[[nodiscard]] json::object complete(json::object result, Revision revision,
                                    const Identity& identity,
                                    std::optional<Caching> caching = std::nullopt);

// One block of content.
[[nodiscard]] json::object encode(const Content& content, Revision revision);

// The `result` member for a client of the given revision.
[[nodiscard]] json::object encode(const Answer& answer, Revision revision,
                                  const Identity& identity);

}  // namespace belljar::mcp
