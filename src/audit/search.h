#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/filter.h"
#include "base/bytes.h"
#include "base/fd.h"
#include "base/result.h"

namespace belljar::audit {

// Calls `take` with each record that the filter means, oldest first, until it says false. Reads
// complete lines only, so that it works while others write. `line` is without the line break.
using TakeRecord = std::function<Result<bool>(const LineParts& parts, std::string_view line)>;
[[nodiscard]] Result<void> search_trail(const Fd& directory, const Filter& filter,
                                        const TakeRecord& take);

struct Page {
    std::vector<std::string> lines{};  // newest first
    std::uint64_t next = 0;            // `before` of the next page; 0: there is none
};
struct PageWish {
    Filter filter{};
    std::uint64_t before = 0;  // only records with a smaller number; 0: all
    std::size_t limit = 50;
    Bytes read = mebibytes(64);  // at most; a page may be short, or empty, for it
};
[[nodiscard]] Result<Page> page_of_trail(const Fd& directory, const PageWish& wish);

// One line of CSV (RFC 4180) with the line break; that of the names comes first.
[[nodiscard]] std::string csv_header();
[[nodiscard]] std::string to_csv(std::string_view line);

}  // namespace belljar::audit
