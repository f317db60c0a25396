#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/response_stream.h"
#include "access/rights.h"
#include "base/fd.h"

namespace belljar::access {

// Header names compare without regard to case, as HTTP says.
struct LessIgnoringCase {
    using is_transparent = void;
    bool operator()(std::string_view left, std::string_view right) const;
};

using Headers = std::multimap<std::string, std::string, LessIgnoringCase>;

// One HTTP request as the layers above the socket see it. Everything in it is hostile, except what
// is not read from the wire: who sends it, what that caller may do, and the way back.
struct HttpRequest {
    std::string principal{};  // whose token it shows; empty: the one without a name
    Rights rights = Rights::all();
    std::vector<std::string> tool_sets{};  // of the caller
    std::string resource_metadata{};       // where it learns who gives out tokens; empty: nowhere
    std::string method{};
    std::string path{};   // without the query, as sent (not decoded)
    std::string query{};  // without the question mark
    Headers headers{};
    std::string body{};
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
    std::optional<FilePart> file{};  // sent in place of the body
};

}  // namespace belljar::access
