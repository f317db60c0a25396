#include "config/listen_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace belljar::config {
namespace {

constexpr std::size_t kMaximumHostLength = 253;  // of a name in DNS

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

bool is_name_letter(char letter) {
    return is_digit(letter) || (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z') || letter == '.' || letter == '-' || letter == '_';
}

std::optional<in_addr> as_ipv4(const std::string& host) {
    in_addr address{};
    if (::inet_pton(AF_INET, host.c_str(), &address) != 1) {
        return std::nullopt;
    }
    return address;
}

std::optional<in6_addr> as_ipv6(const std::string& host) {
    in6_addr address{};
    if (::inet_pton(AF_INET6, host.c_str(), &address) != 1) {
        return std::nullopt;
    }
    return address;
}

bool is_host(const std::string& host) {
    if (host.size() > kMaximumHostLength || !std::ranges::all_of(host, is_name_letter)) {
        return false;
    }
    const bool numeric =
        std::ranges::all_of(host, [](char letter) { return is_digit(letter) || letter == '.'; });
    return host.empty() || !numeric || as_ipv4(host).has_value();
}

std::unexpected<Error> not_an_address() {
    return fail(ErrorCode::InvalidArgument,
                "expected an address such as 127.0.0.1:8080, [::1]:8080 or :8080");
}

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || text.contains('\0')) {
        return not_an_address();
    }
    const std::string_view port_text = text.substr(colon + 1);
    ListenAddress address{.host = std::string(text.substr(0, colon)), .port = 0};
    const char* end = port_text.data() + port_text.size();
    const auto [rest, error] = std::from_chars(port_text.data(), end, address.port);
    if (error != std::errc{} || rest != end) {
        return not_an_address();
    }
    if (address.host.starts_with('[') && address.host.ends_with(']')) {
        address.host = address.host.substr(1, address.host.size() - 2);
        return as_ipv6(address.host) ? Result<ListenAddress>(address) : not_an_address();
    }
    return is_host(address.host) ? Result<ListenAddress>(address) : not_an_address();
}

std::string format_listen_address(const ListenAddress& address) {
    const bool needs_brackets = address.host.contains(':');
    return fmt::format(fmt::runtime(needs_brackets ? "[{}]:{}" : "{}:{}"), address.host,
                       address.port);
}

bool is_loopback(const ListenAddress& address) {
    if (address.host == "localhost") {
        return true;
    }
    if (const auto ipv4 = as_ipv4(address.host)) {
        return (ntohl(ipv4->s_addr) >> 24U) == IN_LOOPBACKNET;
    }
    const auto ipv6 = as_ipv6(address.host);
    return ipv6 && IN6_IS_ADDR_LOOPBACK(&*ipv6);
}

}  // namespace belljar::config
