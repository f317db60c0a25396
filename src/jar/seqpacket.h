#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace belljar::jar {

inline constexpr std::size_t kMaxPacket = 16 * 1024;
inline constexpr std::size_t kMaxPacketFds = 24;

// One message of a SOCK_SEQPACKET socket with the descriptors that came with it.
struct Packet {
    std::string data;
    std::vector<Fd> fds;
};

struct SocketPair {
    Fd first;
    Fd second;
};

[[nodiscard]] Result<SocketPair> make_seqpacket_pair();

// Sends one message; the descriptors are borrowed for the call.
[[nodiscard]] Result<void> send_packet(const Fd& socket, std::span<const std::byte> data,
                                       std::span<const int> fds);

// Of descriptors that stay with their owner.
[[nodiscard]] std::vector<int> numbers_of(std::span<const Fd> fds);

// Whether one can be received, or the other side is gone.
[[nodiscard]] bool has_packet(const Fd& socket);

// Receives one message without blocking if the socket does not block. An empty `data` means that
// the other side is gone. A message that was cut short is an error.
[[nodiscard]] Result<Packet> receive_packet(const Fd& socket);

}  // namespace belljar::jar
