#include "api/byte_range.h"

#include <algorithm>
#include <charconv>

#include "base/ascii.h"

namespace belljar::api {
namespace {

constexpr std::string_view kUnit = "bytes=";

// Digits only. A number beyond 64 bits is as good as the largest.
std::optional<std::uint64_t> parse_position(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.begin(), text.end(), number);
    if (text.empty() || end != text.end()) {
        return std::nullopt;
    }
    return error == std::errc() ? number : UINT64_MAX;
}

RangeChoice part(std::uint64_t first, std::uint64_t length) {
    return {.kind = RangeKind::Part, .range = {.offset = first, .length = length}};
}

}  // namespace

RangeChoice choose_range(std::string_view header, std::uint64_t size) {
    if (to_lower(header.substr(0, kUnit.size())) != kUnit) {
        return {};
    }
    header.remove_prefix(kUnit.size());
    const std::size_t dash = header.find('-');
    if (dash == std::string_view::npos) {
        return {};
    }
    const std::string_view before = header.substr(0, dash);
    const std::string_view after = header.substr(dash + 1);
    const std::optional<std::uint64_t> first = parse_position(before);
    const std::optional<std::uint64_t> last = parse_position(after);
    if (before.empty() && last) {  // the last so many bytes
        const std::uint64_t length = std::min(*last, size);
        return length == 0 ? RangeChoice{.kind = RangeKind::Unsatisfiable}
                           : part(size - length, length);
    }
    if (!first || !(last || after.empty()) || (last && *last < *first)) {
        return {};
    }
    if (*first >= size) {
        return {.kind = RangeKind::Unsatisfiable};
    }
    return part(*first, std::min(last.value_or(UINT64_MAX), size - 1) - *first + 1);
}

}  // namespace belljar::api
