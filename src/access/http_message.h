#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belljar::access {

// Header names compare without regard to case, as HTTP says.
struct LessIgnoringCase {
    using is_transparent = void;
    bool operator()(std::string_view left, std::string_view right) const;
};

using Headers = std::multimap<std::string, std::string, LessIgnoringCase>;

// One HTTP request as the layers above the socket see it. Everything in it is hostile.
struct HttpRequest {
    std::string method{};
    std::string path{};   // without the query, as sent (not decoded)
    std::string query{};  // without the question mark
    Headers headers{};
    std::string body{};

    // The header's value without surrounding white space; nothing if absent or given twice with
    // different values.
    [[nodiscard]] std::optional<std::string> header(std::string_view name) const;
};

struct HttpResponse {
    unsigned status = 200;
    std::string content_type = "application/json";
    std::vector<std::pair<std::string, std::string>> headers{};
    std::string body{};
};

}  // namespace belljar::access
