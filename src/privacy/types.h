#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "execution/governance.h"

namespace belljar::privacy {

// In the order in which they are looked for where several could begin.
enum class Type : std::uint8_t {
    Email,
    ApiKey,
    Iban,
    CreditCard,
    Ssn,
    IpAddress,
    MacAddress,
    Phone,
};

inline constexpr std::size_t kTypeCount = 8;
using TypeSet = std::bitset<kTypeCount>;

// How often each type was found.
using Counts = std::array<std::uint64_t, kTypeCount>;

[[nodiscard]] constexpr std::size_t index_of(Type type) { return static_cast<std::size_t>(type); }

// As rules and records spell it: "credit_card".
[[nodiscard]] std::string_view name_of(Type type);
// What stands in its place: "[CC_REDACTED]".
[[nodiscard]] std::string_view mark_of(Type type);

// "all" stands for every type. InvalidArgument for a name that is none.
[[nodiscard]] Result<TypeSet> parse_types(const std::vector<std::string>& names);

void add_counts(const Counts& counts, execution::MaskCounts& sum);

}  // namespace belljar::privacy
