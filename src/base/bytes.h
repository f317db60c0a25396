#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace belljar {

// A count of bytes, so that a size is never mistaken for another number.
struct Bytes {
    std::uint64_t count = 0;

    auto operator<=>(const Bytes&) const = default;
};

[[nodiscard]] constexpr Bytes kibibytes(std::uint64_t count) { return Bytes{count << 10U}; }
[[nodiscard]] constexpr Bytes mebibytes(std::uint64_t count) { return Bytes{count << 20U}; }
[[nodiscard]] constexpr Bytes gibibytes(std::uint64_t count) { return Bytes{count << 30U}; }

// Reads "1048576", "256k", "256m", "1g", "256MiB", "256MB" (all units are powers of 1024).
[[nodiscard]] Result<Bytes> parse_bytes(std::string_view text);

// The shortest exact form that parse_bytes reads back: "256m", "1000".
[[nodiscard]] std::string format_bytes(Bytes bytes);

}  // namespace belljar
