#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/response_stream.h"
#include "access/rights.h"
#include "access/trace_context.h"
#include "base/bytes.h"
#include "base/fd.h"

namespace belljar::access {

// Header names compare without regard to case, as HTTP says.
struct LessIgnoringCase {
    using is_transparent = void;
    bool operator()(std::string_view left, std::string_view right) const;
};

using Headers = std::multimap<std::string, std::string, LessIgnoringCase>;

// A body that was too large for memory: a file without a name, open for reading and writing, which
// is gone when nobody holds it. It can be given a name with linkat(2).
struct BodyFile {
    Fd file{};
    std::uint64_t size = 0;
};

// How much of a body is read for a request whose head is known, and where it goes.
struct BodyPlan {
    enum class Place { Memory, File };

    Bytes limit{};
    Place place = Place::Memory;
};

// What a request came in by. A Unix socket has no host that could be named wrongly.
enum class Arrival { Network, UnixSocket };

// One HTTP request as the layers above the socket see it. Everything in it is hostile, except what
// is not read from the wire: who sends it, what that caller may do, and the way back.
struct HttpRequest {
    std::string principal{};  // whose token it shows; empty: the one without a name
    Rights rights = Rights::all();
    std::vector<std::string> tool_sets{};  // of the caller
    execution::PrincipalLimits limits{};   // that the caller has of its own
    std::string resource_metadata{};       // where it learns who gives out tokens; empty: nowhere
    std::string client{};  // its address, or that which a trusted proxy names; "unix" without one
    std::string scheme = "http";  // or "https": what the client speaks, perhaps with a proxy
    Arrival arrival = Arrival::Network;
    std::optional<TraceContext> trace{};  // of a caller that sends one
    std::string method{};
    std::string path{};   // without the query, as sent (not decoded)
    std::string query{};  // without the question mark
    Headers headers{};
    std::string body{};
    std::shared_ptr<const BodyFile> body_file{};  // instead of the body; shared, as requests are
                                                  // copied
    ResponseStreamPtr stream{};  // where an answer may go in pieces; nullptr: it may not

    // The header's value without surrounding white space; nothing if absent or given twice with
    // different values.
    [[nodiscard]] std::optional<std::string> header(std::string_view name) const;
};

// A part of a file, read only as it is sent.
struct FilePart {
    Fd file{};
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};

struct HttpResponse {
    unsigned status = 200;
    std::string content_type = "application/json";
    std::vector<std::pair<std::string, std::string>> headers{};
    std::string body{};
    // Sent behind the body: a long end that many answers share. Never without a body.
    std::shared_ptr<const std::string> rest{};
    std::optional<FilePart> file{};  // sent in place of the body
    std::string cause{};             // of a failure that is ours: for the log, never sent
    bool cut_short = false;  // its caller left before it was done: asked again, it may be another

    // Of what is sent behind the head.
    [[nodiscard]] std::uint64_t length() const;
};

}  // namespace belljar::access
