#include "host/kernel.h"

#include <gtest/gtest.h>

namespace belljar::host {
namespace {

TEST(HostKernel, ParsesReleases) {
    EXPECT_EQ(parse_kernel_release("6.8.0-45-generic"), (KernelVersion{6, 8}));
    EXPECT_EQ(parse_kernel_release("5.14"), (KernelVersion{5, 14}));
    EXPECT_EQ(parse_kernel_release("6"), (KernelVersion{6, 0}));
    EXPECT_EQ(parse_kernel_release("6.x"), (KernelVersion{6, 0}));
    EXPECT_EQ(parse_kernel_release("unknown"), (KernelVersion{0, 0}));
    EXPECT_EQ(parse_kernel_release(""), (KernelVersion{0, 0}));
}

TEST(HostKernel, OrdersVersions) {
    EXPECT_LT((KernelVersion{5, 14}), (KernelVersion{6, 1}));
    EXPECT_LT((KernelVersion{5, 9}), (KernelVersion{5, 14}));
}

TEST(HostKernel, DescribesThisOne) {
    const Kernel kernel = read_kernel();
    EXPECT_FALSE(kernel.release.empty());
    EXPECT_FALSE(kernel.machine.empty());
    EXPECT_GT(kernel.version, (KernelVersion{3, 0}));
}

TEST(HostKernel, EveryCallIsKnownFromItsVersionOn) {
    // The last of them, mount_setattr, came with 5.12.
    if (read_kernel().version < KernelVersion{5, 12}) {
        GTEST_SKIP() << "this kernel is older than 5.12";
    }
    EXPECT_TRUE(missing_system_calls().empty());
    EXPECT_TRUE(missing_mount_calls().empty());
}

}  // namespace
}  // namespace belljar::host
