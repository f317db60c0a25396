#include "access/http_message.h"

#include <algorithm>

#include "base/ascii.h"

namespace belljar::access {

bool LessIgnoringCase::operator()(std::string_view left, std::string_view right) const {
    return std::ranges::lexicographical_compare(
        left, right, [](char a, char b) { return to_lower(a) < to_lower(b); });
}

std::optional<std::string> HttpRequest::header(std::string_view name) const {
    const auto [begin, end] = headers.equal_range(name);
    if (begin == end) {
        return std::nullopt;
    }
    const std::string_view value = trim(begin->second);
    const bool agrees =
        std::all_of(begin, end, [&](const auto& entry) { return trim(entry.second) == value; });
    return agrees ? std::optional(std::string(value)) : std::nullopt;
}

std::uint64_t HttpResponse::length() const {
    return file ? file->length : body.size() + (rest ? rest->size() : 0);
}

}  // namespace belljar::access
