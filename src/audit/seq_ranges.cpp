#include "audit/seq_ranges.h"

#include <algorithm>

namespace belljar::audit {

void add_seq(SeqRanges& ranges, std::uint64_t seq) {
    if (!ranges.empty() && ranges.back().last + 1 == seq) {
        ranges.back().last = seq;
    } else {
        ranges.push_back({.first = seq, .last = seq});
    }
}

SeqRanges merged(SeqRanges ranges) {
    std::ranges::sort(ranges, {}, &SeqRange::first);
    SeqRanges result;
    for (const SeqRange& range : ranges) {
        if (!result.empty() && range.first <= result.back().last + 1) {
            result.back().last = std::max(result.back().last, range.last);
        } else {
            result.push_back(range);
        }
    }
    return result;
}

namespace {

// The range that holds it, or nullptr.
const SeqRange* find(const SeqRanges& ranges, std::uint64_t seq) {
    const auto after = std::ranges::upper_bound(ranges, seq, {}, &SeqRange::first);
    if (after == ranges.begin()) {
        return nullptr;
    }
    const SeqRange& range = *std::prev(after);
    return seq <= range.last ? &range : nullptr;
}

}  // namespace

bool contains(const SeqRanges& ranges, std::uint64_t seq) { return find(ranges, seq) != nullptr; }

std::optional<std::uint64_t> first_outside(const SeqRanges& part, const SeqRanges& whole) {
    for (const SeqRange& range : part) {
        const SeqRange* held = find(whole, range.first);
        if (held == nullptr) {
            return range.first;
        }
        if (held->last < range.last) {
            return held->last + 1;
        }
    }
    return std::nullopt;
}

json::array to_json(const SeqRanges& ranges) {
    json::array array;
    for (const SeqRange& range : ranges) {
        array.push_back(json::array{range.first, range.last});
    }
    return array;
}

std::optional<SeqRanges> parse_ranges(const json::value& value) {
    const json::array* array = value.if_array();
    if (array == nullptr) {
        return std::nullopt;
    }
    SeqRanges ranges;
    for (const json::value& item : *array) {
        const json::array* pair = item.if_array();
        if (pair == nullptr || pair->size() != 2) {
            return std::nullopt;
        }
        boost::system::error_code error;
        boost::system::error_code second;
        const SeqRange range{.first = (*pair)[0].to_number<std::uint64_t>(error),
                             .last = (*pair)[1].to_number<std::uint64_t>(second)};
        if (error || second || range.first > range.last) {
            return std::nullopt;
        }
        ranges.push_back(range);
    }
    return ranges;
}

}  // namespace belljar::audit
