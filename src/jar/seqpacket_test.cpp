#include "jar/seqpacket.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace belljar::jar {
namespace {

std::size_t count_open_descriptors() {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc/self/fd"), ::closedir);
    std::size_t count = 0;
    while (::readdir(directory.get()) != nullptr) {
        ++count;
    }
    return count;
}

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

// Sends `count` copies of a descriptor past the limit that send_packet() keeps.
void send_descriptors(const Fd& socket, int number, std::size_t count) {
    constexpr std::size_t kMost = 64;
    ASSERT_LE(count, kMost);
    char byte = 'x';
    iovec part{.iov_base = &byte, .iov_len = 1};
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * kMost)> control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    cmsghdr* entry = CMSG_FIRSTHDR(&header);
    entry->cmsg_level = SOL_SOCKET;
    entry->cmsg_type = SCM_RIGHTS;
    entry->cmsg_len = CMSG_LEN(sizeof(int) * count);
    const std::vector<int> numbers(count, number);
    std::memcpy(CMSG_DATA(entry), numbers.data(), sizeof(int) * count);
    ASSERT_EQ(::sendmsg(socket.get(), &header, MSG_NOSIGNAL), 1);
}

TEST(Seqpacket, KeepsTheBordersOfMessages) {
    const SocketPair sockets = make_seqpacket_pair().value();
    ASSERT_TRUE(send_packet(sockets.first, bytes_of("one"), {}));
    ASSERT_TRUE(send_packet(sockets.first, bytes_of("three"), {}));
    EXPECT_EQ(receive_packet(sockets.second).value().data, "one");
    EXPECT_EQ(receive_packet(sockets.second).value().data, "three");
}

TEST(Seqpacket, IsNotInherited) {
    const SocketPair sockets = make_seqpacket_pair().value();
    EXPECT_NE(::fcntl(sockets.first.get(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_NE(::fcntl(sockets.second.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Seqpacket, PassesDescriptorsInOrder) {
    const SocketPair sockets = make_seqpacket_pair().value();
    std::vector<Fd> files;
    std::vector<int> numbers;
    for (std::size_t index = 0; index < kMaxPacketFds; ++index) {
        files.push_back(make_sealed_file("test", std::to_string(index)).value());
        numbers.push_back(files.back().get());
    }
    ASSERT_TRUE(send_packet(sockets.first, bytes_of("x"), numbers));
    files.clear();
    const Packet packet = receive_packet(sockets.second).value();
    ASSERT_EQ(packet.fds.size(), kMaxPacketFds);
    for (std::size_t index = 0; index < kMaxPacketFds; ++index) {
        EXPECT_EQ(read_all(packet.fds[index], kibibytes(1)).value(), std::to_string(index));
        EXPECT_NE(::fcntl(packet.fds[index].get(), F_GETFD) & FD_CLOEXEC, 0);
    }
}

TEST(Seqpacket, RefusesToSendTooManyDescriptors) {
    const SocketPair sockets = make_seqpacket_pair().value();
    const std::vector<int> numbers(kMaxPacketFds + 1, sockets.first.get());
    EXPECT_FALSE(send_packet(sockets.first, bytes_of("x"), numbers));
}

TEST(Seqpacket, TakesAMessageOfTheGreatestSize) {
    const SocketPair sockets = make_seqpacket_pair().value();
    const std::string data(kMaxPacket, 'd');
    ASSERT_TRUE(send_packet(sockets.first, bytes_of(data), {}));
    EXPECT_TRUE(receive_packet(sockets.second).value().data == data);
}

TEST(Seqpacket, AMessageThatIsCutShortIsAnErrorAndLeaksNoDescriptor) {
    const SocketPair sockets = make_seqpacket_pair().value();
    const Fd file = make_sealed_file("test", "").value();
    const std::vector<int> numbers(3, file.get());
    const std::string data(kMaxPacket + 1, 'd');
    ASSERT_TRUE(send_packet(sockets.first, bytes_of(data), numbers));
    const std::size_t before = count_open_descriptors();
    EXPECT_EQ(receive_packet(sockets.second).error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(count_open_descriptors(), before);
}

TEST(Seqpacket, MoreDescriptorsThanFitAreAnErrorAndLeakNone) {
    const SocketPair sockets = make_seqpacket_pair().value();
    const Fd file = make_sealed_file("test", "").value();
    const std::size_t before = count_open_descriptors();
    for (const std::size_t count : {kMaxPacketFds + 1, kMaxPacketFds + 2, std::size_t{64}}) {
        send_descriptors(sockets.first, file.get(), count);
        EXPECT_EQ(receive_packet(sockets.second).error().code, ErrorCode::InvalidArgument);
        EXPECT_EQ(count_open_descriptors(), before) << count;
    }
}

TEST(Seqpacket, AnEmptyPacketMeansThatTheOtherSideIsGone) {
    SocketPair sockets = make_seqpacket_pair().value();
    ASSERT_TRUE(send_packet(sockets.first, bytes_of("last words"), {}));
    sockets.first.reset();
    EXPECT_EQ(receive_packet(sockets.second).value().data, "last words");
    EXPECT_TRUE(receive_packet(sockets.second).value().data.empty());
    EXPECT_EQ(send_packet(sockets.second, bytes_of("x"), {}).error().sys_errno, EPIPE);
}

TEST(Seqpacket, DoesNotBlockIfTheSocketDoesNot) {
    const SocketPair sockets = make_seqpacket_pair().value();
    ASSERT_EQ(::fcntl(sockets.second.get(), F_SETFL, O_NONBLOCK), 0);
    EXPECT_EQ(receive_packet(sockets.second).error().sys_errno, EAGAIN);
}

// The kernel resets a socket that is closed with a message still unread in it.
TEST(Seqpacket, APeerThatLeavesAMessageUnreadIsGoneAndNotAnError) {
    SocketPair pair = make_seqpacket_pair().value();
    const std::byte unread{1};
    ASSERT_TRUE(send_packet(pair.first, std::span(&unread, 1), {}));
    pair.second.reset();
    const Result<Packet> packet = receive_packet(pair.first);
    ASSERT_TRUE(packet);
    EXPECT_TRUE(packet->data.empty());
}

}  // namespace
}  // namespace belljar::jar
