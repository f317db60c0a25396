#include "jar/denial_record.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace belljar::jar {
namespace {

constexpr std::uint16_t kNameServerPort = 53;

static_assert(sizeof(sockaddr_in6) <= sizeof(SocketAddress::bytes));

template <typename Sockaddr>
Sockaddr read_as(const void* bytes) {
    Sockaddr address{};
    std::memcpy(&address, bytes, sizeof address);
    return address;
}

template <typename Sockaddr>
SocketAddress keep(const Sockaddr& address) {
    SocketAddress kept{.length = sizeof address, .bytes = {}};
    std::memcpy(kept.bytes.data(), &address, sizeof address);
    return kept;
}

// The unspecified address means this host, too.
bool is_inside(std::uint32_t host_order) { return host_order >> 24U == 127 || host_order == 0; }

bool is_inside(const in6_addr& address) {
    if (IN6_IS_ADDR_V4MAPPED(&address)) {
        in_addr mapped{};
        std::memcpy(&mapped, address.s6_addr + 12, sizeof mapped);
        return is_inside(ntohl(mapped.s_addr));
    }
    return IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_UNSPECIFIED(&address);
}

}  // namespace

SocketAddress internet_address(std::span<const std::byte> sockaddr) {
    sa_family_t family = AF_UNSPEC;
    if (sockaddr.size() < sizeof family) {
        return {};
    }
    std::memcpy(&family, sockaddr.data(), sizeof family);
    if (family == AF_INET && sockaddr.size() >= sizeof(sockaddr_in)) {
        auto address = read_as<sockaddr_in>(sockaddr.data());
        std::ranges::fill(address.sin_zero, 0);
        return keep(address);
    }
    if (family == AF_INET6 && sockaddr.size() >= sizeof(sockaddr_in6)) {
        auto address = read_as<sockaddr_in6>(sockaddr.data());
        address.sin6_flowinfo = 0;
        address.sin6_scope_id = 0;
        return keep(address);
    }
    return {};
}

bool seeks_network(const SocketAddress& address) {
    if (address.length == sizeof(sockaddr_in)) {
        const auto inet = read_as<sockaddr_in>(address.bytes.data());
        return !is_inside(ntohl(inet.sin_addr.s_addr)) || ntohs(inet.sin_port) == kNameServerPort;
    }
    if (address.length == sizeof(sockaddr_in6)) {
        const auto inet6 = read_as<sockaddr_in6>(address.bytes.data());
        return !is_inside(inet6.sin6_addr) || ntohs(inet6.sin6_port) == kNameServerPort;
    }
    return false;
}

bool DenialRecord::same_kind(const DenialRecord& other) const {
    return number == other.number && error == other.error && key == other.key &&
           address == other.address;
}

std::optional<DenialRecord> DenialTally::add(const DenialRecord& record) {
    const std::span<DenialRecord> known = std::span(records_).first(used_);
    const auto same = std::ranges::find_if(
        known, [&](const DenialRecord& other) { return other.same_kind(record); });
    if (same != known.end()) {
        ++same->count;
        return std::nullopt;
    }
    const auto of_call = std::ranges::count(known, record.number, &DenialRecord::number);
    if (used_ == kKinds || of_call == kKindsPerCall) {
        ++uncounted_;
        return std::nullopt;
    }
    DenialRecord& added = records_[used_++];
    added = record;
    added.count = 1;
    return added;
}

}  // namespace belljar::jar
