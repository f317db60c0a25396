#include "host/hardening.h"

#include <gtest/gtest.h>

namespace belljar::host {
namespace {

TEST(HostHardening, ListsSwaps) {
    EXPECT_TRUE(parse_swaps("Filename\t\t\tType\t\tSize\t\tUsed\t\tPriority\n").empty());
    EXPECT_TRUE(parse_swaps("").empty());
    EXPECT_EQ(parse_swaps("Filename Type Size Used Priority\n"
                          "/dev/sda2   partition 1024 0 -2\n/dev/zram0 partition 8 0 100\n"),
              (std::vector<std::string>{"/dev/sda2", "/dev/zram0"}));
}

TEST(HostHardening, TellsAPipedCorePattern) {
    EXPECT_EQ(core_handler("core"), "");
    EXPECT_EQ(core_handler("/var/crash/core.%p"), "");
    EXPECT_EQ(core_handler(""), "");
    EXPECT_EQ(core_handler("|/usr/share/apport/apport -p%p -s%s"), "/usr/share/apport/apport");
    EXPECT_EQ(core_handler("|"), "|");
}

TEST(HostHardening, ListsOnlyUnusualSocketFamilies) {
    constexpr std::string_view kProtocols =
        "protocol  size sockets  memory press maxhdr  slab module     cl co di ac io in de sh\n"
        "AF_VSOCK  1296      0      -1   NI       0   yes  kernel      n  n  n  n  n  n\n"
        "PACKET    1536      0      -1   NI       0   no   kernel      n  n  n  n  n  n\n"
        "UNIX      1152     94      -1   NI       0   yes  kernel      n  n  n  n  n  n\n"
        "TCP       2432      8       2   no     320   yes  kernel      y  y  y  y  y  y\n";
    EXPECT_EQ(unusual_socket_families(kProtocols),
              (std::vector<std::string>{"AF_VSOCK", "PACKET"}));
    EXPECT_TRUE(unusual_socket_families("").empty());
}

TEST(HostHardening, ReadsThisHost) {
    const Hardening found = read_hardening();
    EXPECT_FALSE(found.core_handler.starts_with(' '));
    EXPECT_TRUE(found.socket_families.empty() || !found.socket_families.front().empty());
}

}  // namespace
}  // namespace belljar::host
