#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/json.h"

namespace belljar::audit {

// Sets of records as [first, last], in order.
struct SeqRange {
    std::uint64_t first = 0;
    std::uint64_t last = 0;

    bool operator==(const SeqRange&) const = default;
};
using SeqRanges = std::vector<SeqRange>;

// `seq` is larger than all that are in it.
void add_seq(SeqRanges& ranges, std::uint64_t seq);
// Sorted, and those that touch made one.
[[nodiscard]] SeqRanges merged(SeqRanges ranges);
// `ranges` are merged.
[[nodiscard]] bool contains(const SeqRanges& ranges, std::uint64_t seq);
// The first number that is in `part` and not in `whole`; both are merged.
[[nodiscard]] std::optional<std::uint64_t> first_outside(const SeqRanges& part,
                                                         const SeqRanges& whole);

[[nodiscard]] json::array to_json(const SeqRanges& ranges);
// Nothing if it is not what to_json() makes.
[[nodiscard]] std::optional<SeqRanges> parse_ranges(const json::value& value);

}  // namespace belljar::audit
