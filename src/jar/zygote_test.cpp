#include "jar/zygote.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "jar/seqpacket.h"

namespace belljar::jar {
namespace {

ino_t inode_of(const Fd& fd) {
    struct stat status{};
    EXPECT_EQ(::fstat(fd.get(), &status), 0);
    return status.st_ino;
}

class ZygoteTest : public testing::Test {
   protected:
    void SetUp() override {
        sockets = make_seqpacket_pair().value();
        order.jar = 17;
        order.spec.message.processes = 64;
        for (Fd& fd : order.spec.descriptors) {
            fd = make_sealed_file("zygote-test", "x").value();
        }
        for (Fd* fd : {&order.init, &order.reports, &order.listener}) {
            *fd = make_sealed_file("zygote-test", "x").value();
        }
    }

    SocketPair sockets;
    GuestOrder order;
};

TEST_F(ZygoteTest, AnOrderArrivesAsItWasSent) {
    order.cgroup = make_sealed_file("zygote-test", "x").value();
    order.spec.cgroup_files.push_back(make_sealed_file("zygote-test", "x").value());
    order.spec.message.cgroup_files = 99;  // what is sent is counted
    ASSERT_TRUE(send_order(sockets.first, order));
    const GuestOrder received = receive_order(sockets.second).value();
    EXPECT_EQ(received.jar, 17U);
    EXPECT_EQ(received.spec.message.processes, 64U);
    for (std::size_t index = 0; index < kGuestFdCount; ++index) {
        EXPECT_EQ(inode_of(received.spec.descriptors[index]),
                  inode_of(order.spec.descriptors[index]));
    }
    EXPECT_EQ(inode_of(received.init), inode_of(order.init));
    EXPECT_EQ(inode_of(received.reports), inode_of(order.reports));
    EXPECT_EQ(inode_of(received.listener), inode_of(order.listener));
    EXPECT_EQ(inode_of(received.cgroup), inode_of(order.cgroup));
    ASSERT_EQ(received.spec.cgroup_files.size(), 1U);
    EXPECT_EQ(inode_of(received.spec.cgroup_files[0]), inode_of(order.spec.cgroup_files[0]));
}

TEST_F(ZygoteTest, ACgroupToBeBornInMayBeMissing) {
    ASSERT_TRUE(send_order(sockets.first, order));
    const GuestOrder received = receive_order(sockets.second).value();
    EXPECT_FALSE(received.cgroup.valid());
    EXPECT_TRUE(received.spec.cgroup_files.empty());
}

TEST_F(ZygoteTest, AnOrderWithoutItsDescriptorsIsRefused) {
    OrderMessage message{.jar = 1, .born_in_cgroup = 0, .spec = order.spec.message};
    const int number = order.init.get();
    for (const std::uint32_t born : {0U, 1U, UINT32_MAX}) {
        message.born_in_cgroup = born;
        ASSERT_TRUE(send_packet(sockets.first, std::as_bytes(std::span(&message, 1)),
                                std::span(&number, 1)));
        EXPECT_EQ(receive_order(sockets.second).error().sys_errno, EPROTO);
    }
}

TEST_F(ZygoteTest, AnOrderOfAnotherSizeIsRefused) {
    const std::byte little{1};
    ASSERT_TRUE(send_packet(sockets.first, std::span(&little, 1), {}));
    EXPECT_EQ(receive_order(sockets.second).error().sys_errno, EPROTO);
    sockets.first.reset();
    EXPECT_EQ(receive_order(sockets.second).error().sys_errno, EPROTO) << "the warden is gone";
}

}  // namespace
}  // namespace belljar::jar
