#include "base/bytes.h"

#include <array>
#include <charconv>
#include <limits>

#include "base/ascii.h"

namespace belljar {
namespace {

struct Unit {
    std::string_view suffix;
    unsigned shift;
};

constexpr std::array<Unit, 13> kUnits{{{"", 0},
                                       {"b", 0},
                                       {"k", 10},
                                       {"kb", 10},
                                       {"kib", 10},
                                       {"m", 20},
                                       {"mb", 20},
                                       {"mib", 20},
                                       {"g", 30},
                                       {"gb", 30},
                                       {"gib", 30},
                                       {"t", 40},
                                       {"tib", 40}}};

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
    std::uint64_t count = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, count);
    if (error != std::errc{}) {
        return fail(ErrorCode::InvalidArgument, "expected a size such as 1048576, 256m or 1g");
    }
    const std::string suffix =
        to_lower(std::string_view(rest, static_cast<std::size_t>(end - rest)));
    for (const Unit& unit : kUnits) {
        if (unit.suffix != suffix) {
            continue;
        }
        if (count > (std::numeric_limits<std::uint64_t>::max() >> unit.shift)) {
            return fail(ErrorCode::InvalidArgument, "the size is too large to count");
        }
        return Bytes{count << unit.shift};
    }
    return fail(ErrorCode::InvalidArgument, "expected a size such as 1048576, 256m or 1g");
}

std::string format_bytes(Bytes bytes) {
    constexpr std::array<Unit, 4> kShown{{{"t", 40}, {"g", 30}, {"m", 20}, {"k", 10}}};
    for (const Unit& unit : kShown) {
        const std::uint64_t size = std::uint64_t{1} << unit.shift;
        if (bytes.count >= size && bytes.count % size == 0) {
            return std::to_string(bytes.count >> unit.shift) + std::string(unit.suffix);
        }
    }
    return std::to_string(bytes.count);
}

}  // namespace belljar
