#include "engine/network_counters.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace belljar::engine {
namespace {

constexpr std::string_view kText =
    "Ip: Forwarding DefaultTTL OutRequests OutNoRoutes ReasmTimeout\n"
    "Ip: 2 64 7 3 0\n"
    "Tcp: RtoAlgorithm ActiveOpens PassiveOpens\n"
    "Tcp: 1 4 5\n"
    "Udp: InDatagrams NoPorts OutDatagrams\n"
    "Udp: 1 0 6\n"
    "UdpLite: InDatagrams NoPorts OutDatagrams\n"
    "UdpLite: 0 0 1\n"
    "Ip6OutNoRoutes                  \t2\n"
    "Udp6OutDatagrams                \t9\n";

TEST(NetworkCounters, AddUpBothFamilies) {
    const execution::NetworkAttempts found = parse_network_counters(kText);
    EXPECT_EQ(found.without_route, 5U);
    EXPECT_EQ(found.connections, 4U);
    EXPECT_EQ(found.datagrams, 16U);
}

TEST(NetworkCounters, MakeNothingOfWhatTheyDoNotKnow) {
    for (const std::string_view text :
         {"", "\n\n", "Ip:", "Ip: OutNoRoutes\n", "Ip: OutNoRoutes\nIp:\n", "Udp6OutDatagrams",
          "Ip6OutNoRoutes x\n", "Tcp: ActiveOpens\nTcp: -1\n", ": : :\n: 1 2\n"}) {
        EXPECT_EQ(parse_network_counters(text), execution::NetworkAttempts{}) << text;
    }
}

TEST(NetworkCounters, WithoutFilesNothingWasTried) {
    NetworkCounters counters;
    EXPECT_EQ(counters.read({{.call = "connect", .address = "192.0.2.1:80"}}),
              execution::NetworkAttempts{});
}

TEST(NetworkCounters, TellWhatIsNewAndWhere) {
    Fd file(::memfd_create("snmp", MFD_CLOEXEC));
    ASSERT_TRUE(write_all(file, "Tcp: ActiveOpens\nTcp: 2\n"));
    std::vector<Fd> files;
    files.emplace_back(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
    NetworkCounters counters(std::move(files));
    const execution::NetworkAttempts first =
        counters.read({{.call = "connect", .address = "192.0.2.1:80"},
                       {.call = "mount"},
                       {.call = "connect", .address = "192.0.2.1:80"}});
    EXPECT_EQ(first.connections, 2U);
    EXPECT_EQ(first.places, std::vector<std::string>{"192.0.2.1:80"});
    EXPECT_EQ(counters.read({}).connections, 0U);
    ASSERT_EQ(::pwrite(file.get(), "Tcp: ActiveOpens\nTcp: 7\n", 24, 0), 24);
    EXPECT_EQ(counters.read({}).connections, 5U);
}

}  // namespace
}  // namespace belljar::engine
