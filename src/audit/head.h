#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "audit/line.h"
#include "base/result.h"

namespace belljar::audit {

// Where the trail ends, in a file of its own: whoever cuts records off the end of the trail would
// have to make this anew as well, which takes the key. Written after each record, before the record
// counts as written.
struct Head {
    std::uint64_t file = 0;  // number of the last file
    std::uint64_t size = 0;  // its bytes
    ChainEnd end{};
    std::uint64_t signed_seq = 0;  // the last signature
    std::int64_t signed_at = 0;    // seconds since 1970, like the next
    std::int64_t begun_at = 0;     // of the last file

    bool operator==(const Head&) const = default;
};

inline constexpr std::size_t kHeadSize = 512;  // always, so that one write replaces all of it

[[nodiscard]] std::string encode_head(const Head& head, std::string_view mac_key);
// Only what encode_head() has written with this key; without a key the mac is not looked at.
[[nodiscard]] Result<Head> parse_head(std::string_view text, std::string_view mac_key);

}  // namespace belljar::audit
