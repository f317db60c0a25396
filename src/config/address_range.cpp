#include "config/address_range.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace belljar::config {
namespace {

constexpr std::string_view kUnix = "unix";
constexpr unsigned kAllBits = 128;
constexpr unsigned kMappedBits = 96;  // of ::ffff:0:0/96, where the addresses of IPv4 are

std::unexpected<Error> not_a_range(std::string_view text) {
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("\"{}\" is no address such as 192.0.2.1, 10.0.0.0/8 or fd00::/8", text));
}

std::optional<unsigned> parse_bits(std::string_view text, unsigned most) {
    unsigned bits = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, bits);
    const bool valid = error == std::errc{} && rest == end && bits <= most;
    return valid ? std::optional(bits) : std::nullopt;
}

}  // namespace

std::optional<AddressBytes> parse_address(std::string_view text) {
    const std::string host(text.substr(0, text.find('%')));
    AddressBytes bytes{};
    if (host.contains('\0')) {
        return std::nullopt;
    }
    if (::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1) {
        return bytes;
    }
    in_addr ipv4{};
    if (::inet_pton(AF_INET, host.c_str(), &ipv4) != 1) {
        return std::nullopt;
    }
    bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    std::memcpy(bytes.data() + kMappedBits / 8, &ipv4, sizeof(ipv4));
    return bytes;
}

bool AddressRange::contains(std::string_view address) const {
    if (unix_socket || address == kUnix) {
        return unix_socket && address == kUnix;
    }
    const std::optional<AddressBytes> bytes = parse_address(address);
    if (!bytes) {
        return false;
    }
    const unsigned whole = bits / 8;
    const unsigned rest = bits % 8;
    if (!std::equal(begin.begin(), begin.begin() + whole, bytes->begin())) {
        return false;
    }
    return rest == 0 || ((begin[whole] ^ (*bytes)[whole]) >> (8U - rest)) == 0;
}

Result<AddressRange> parse_address_range(std::string_view text) {
    if (text == kUnix) {
        return AddressRange{.unix_socket = true};
    }
    const std::size_t slash = text.find('/');
    const std::string_view address = text.substr(0, slash);
    const std::optional<AddressBytes> bytes = parse_address(address);
    if (!bytes || address.contains('%')) {
        return not_a_range(text);
    }
    const unsigned before = address.contains(':') ? 0 : kMappedBits;
    const std::optional<unsigned> bits =
        slash == std::string_view::npos ? kAllBits - before
                                        : parse_bits(text.substr(slash + 1), kAllBits - before);
    if (!bits) {
        return not_a_range(text);
    }
    return AddressRange{.begin = *bytes, .bits = before + *bits};
}

bool contains(std::span<const AddressRange> ranges, std::string_view address) {
    return std::ranges::any_of(
        ranges, [address](const AddressRange& range) { return range.contains(address); });
}

}  // namespace belljar::config
