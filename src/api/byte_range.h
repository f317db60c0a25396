#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace belljar::api {

struct ByteRange {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;

    bool operator==(const ByteRange&) const = default;
};

enum class RangeKind {
    Whole,          // no range asked for, or none that is understood
    Part,           // `range` of it
    Unsatisfiable,  // all of it lies beyond the end
};

struct RangeChoice {
    RangeKind kind = RangeKind::Whole;
    ByteRange range{};
};

// What a Range header asks of something of that size, by RFC 9110, section 14. Several ranges at
// once are answered with the whole, as the standard allows.
[[nodiscard]] RangeChoice choose_range(std::string_view header, std::uint64_t size);

}  // namespace belljar::api
