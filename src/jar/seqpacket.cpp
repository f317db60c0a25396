#include "jar/seqpacket.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace belljar::jar {

Result<SocketPair> make_seqpacket_pair() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return fail(system_error("socketpair"));
    }
    return SocketPair{.first = Fd(ends[0]), .second = Fd(ends[1])};
}

Result<void> send_packet(const Fd& socket, std::span<const std::byte> data,
                         std::span<const int> fds) {
    iovec part{.iov_base = const_cast<std::byte*>(data.data()), .iov_len = data.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * kMaxPacketFds)> control{};
    if (!fds.empty()) {
        if (fds.size() > kMaxPacketFds) {
            return fail(ErrorCode::Internal, "too many descriptors in one packet");
        }
        header.msg_control = control.data();
        header.msg_controllen = CMSG_SPACE(fds.size_bytes());
        cmsghdr* entry = CMSG_FIRSTHDR(&header);
        entry->cmsg_level = SOL_SOCKET;
        entry->cmsg_type = SCM_RIGHTS;
        entry->cmsg_len = CMSG_LEN(fds.size_bytes());
        std::memcpy(CMSG_DATA(entry), fds.data(), fds.size_bytes());
    }
    ssize_t sent = -1;
    do {
        sent = ::sendmsg(socket.get(), &header, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        return fail(system_error("sendmsg"));
    }
    return {};
}

namespace {

// Takes ownership of every descriptor that came along, before anything can fail.
std::vector<Fd> take_descriptors(msghdr& header) {
    std::vector<Fd> fds;
    for (cmsghdr* entry = CMSG_FIRSTHDR(&header); entry != nullptr;
         entry = CMSG_NXTHDR(&header, entry)) {
        if (entry->cmsg_level != SOL_SOCKET || entry->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const std::size_t count = (entry->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t index = 0; index < count; ++index) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(entry) + index * sizeof(int), sizeof(int));
            fds.emplace_back(number);
        }
    }
    return fds;
}

}  // namespace

std::vector<int> numbers_of(std::span<const Fd> fds) {
    std::vector<int> numbers;
    for (const Fd& fd : fds) {
        numbers.push_back(fd.get());
    }
    return numbers;
}

bool has_packet(const Fd& socket) {
    pollfd entry{.fd = socket.get(), .events = POLLIN, .revents = 0};
    return ::poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
}

Result<Packet> receive_packet(const Fd& socket) {
    Packet packet;
    // Not filled with anything: in a new process that would be four pages that nobody needs.
    const auto room = std::make_unique_for_overwrite<char[]>(kMaxPacket);
    iovec part{.iov_base = room.get(), .iov_len = kMaxPacket};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * kMaxPacketFds)> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    ssize_t received = -1;
    do {
        received = ::recvmsg(socket.get(), &header, MSG_CMSG_CLOEXEC);
    } while (received < 0 && errno == EINTR);
    if (received < 0 && errno == ECONNRESET) {
        return Packet{};  // gone, with a message of ours still unread
    }
    if (received < 0) {
        return fail(system_error("recvmsg"));
    }
    packet.fds = take_descriptors(header);
    if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        return fail(ErrorCode::InvalidArgument, "a message was cut short");
    }
    packet.data.assign(room.get(), static_cast<std::size_t>(received));
    return packet;
}

}  // namespace belljar::jar
