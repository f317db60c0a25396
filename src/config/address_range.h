#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace belljar::config {

// An address of IPv6, or one of IPv4 in the part of IPv6 that stands for them.
using AddressBytes = std::array<unsigned char, 16>;

// Nothing if it is not a numeric address. A zone, such as %eth0, is left out.
[[nodiscard]] std::optional<AddressBytes> parse_address(std::string_view text);

// Addresses that begin alike, or all peers of Unix sockets.
struct AddressRange {
    AddressBytes begin{};
    unsigned bits = 0;         // that must be the same
    bool unix_socket = false;  // instead of addresses

    // "unix" stands for a peer of a Unix socket.
    [[nodiscard]] bool contains(std::string_view address) const;
};

// Reads "10.0.0.0/8", "192.0.2.1", "fd00::/8" and "unix".
[[nodiscard]] Result<AddressRange> parse_address_range(std::string_view text);

[[nodiscard]] bool contains(std::span<const AddressRange> ranges, std::string_view address);

}  // namespace belljar::config
