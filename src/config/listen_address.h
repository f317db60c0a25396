#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace belljar::config {

struct ListenAddress {
    std::string host;  // a name or a numeric address, without brackets; empty: every interface
    std::uint16_t port = 0;  // 0: any free port

    bool operator==(const ListenAddress&) const = default;
};

// Reads "127.0.0.1:8080", "localhost:8080", "[::1]:8080" and ":8080".
[[nodiscard]] Result<ListenAddress> parse_listen_address(std::string_view text);

// The form that parse_listen_address reads back.
[[nodiscard]] std::string format_listen_address(const ListenAddress& address);

// Whether only this machine can reach the address; a name other than "localhost" does not count.
[[nodiscard]] bool is_loopback(const ListenAddress& address);

}  // namespace belljar::config
