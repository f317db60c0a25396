#include "jar/denial_record.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cstring>

namespace belljar::jar {
namespace {

SocketAddress inet(const char* text, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    EXPECT_EQ(::inet_pton(AF_INET, text, &address.sin_addr), 1);
    std::memset(address.sin_zero, 0x5a, sizeof address.sin_zero);
    return internet_address(std::as_bytes(std::span(&address, 1)));
}

SocketAddress inet6(const char* text, std::uint16_t port, std::uint32_t flow = 0) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    address.sin6_flowinfo = flow;
    EXPECT_EQ(::inet_pton(AF_INET6, text, &address.sin6_addr), 1);
    return internet_address(std::as_bytes(std::span(&address, 1)));
}

TEST(InternetAddress, KeepsOnlyThePlace) {
    EXPECT_EQ(inet("192.0.2.1", 80).length, sizeof(sockaddr_in));
    EXPECT_EQ(inet("192.0.2.1", 80).bytes[8], 0);
    EXPECT_EQ(inet6("2001:db8::1", 80, 1), inet6("2001:db8::1", 80, 2));
    EXPECT_NE(inet("192.0.2.1", 80), inet("192.0.2.1", 81));
}

TEST(InternetAddress, OtherFamiliesAndShortOnesAreNone) {
    sockaddr_un unix_address{};
    unix_address.sun_family = AF_UNIX;
    EXPECT_EQ(internet_address(std::as_bytes(std::span(&unix_address, 1))).length, 0U);
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    const std::span<const std::byte> bytes = std::as_bytes(std::span(&address, 1));
    EXPECT_EQ(internet_address(bytes.first(27)).length, 0U);
    EXPECT_EQ(internet_address(bytes.first(1)).length, 0U);
    EXPECT_EQ(internet_address({}).length, 0U);
}

TEST(InternetAddress, LoopbackIsNotTheNetworkButANameServerIs) {
    EXPECT_FALSE(seeks_network({}));
    EXPECT_FALSE(seeks_network(inet("127.1.2.3", 80)));
    EXPECT_FALSE(seeks_network(inet("0.0.0.0", 80)));
    EXPECT_FALSE(seeks_network(inet6("::1", 80)));
    EXPECT_FALSE(seeks_network(inet6("::", 80)));
    EXPECT_FALSE(seeks_network(inet6("::ffff:127.0.0.1", 80)));
    EXPECT_TRUE(seeks_network(inet("192.0.2.1", 80)));
    EXPECT_TRUE(seeks_network(inet6("2001:db8::1", 80)));
    EXPECT_TRUE(seeks_network(inet6("::ffff:192.0.2.1", 80)));
    EXPECT_TRUE(seeks_network(inet("127.0.0.53", 53)));
    EXPECT_TRUE(seeks_network(inet6("::1", 53)));
}

DenialRecord record(std::uint32_t number, std::uint64_t key) {
    return {.number = number, .error = 1, .key = key, .count = 0, .address = {}};
}

TEST(DenialTally, TellsEachKindOnceAndCountsTheRest) {
    DenialTally tally;
    const std::optional<DenialRecord> first = tally.add(record(1, 7));
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->count, 1U);
    EXPECT_FALSE(tally.add(record(1, 7)).has_value());
    EXPECT_TRUE(tally.add(record(1, 8)).has_value());
    EXPECT_TRUE(tally.add(record(2, 7)).has_value());
    ASSERT_EQ(tally.records().size(), 3U);
    EXPECT_EQ(tally.records()[0].count, 2U);
    EXPECT_EQ(tally.uncounted(), 0U);
}

TEST(DenialTally, HoldsAFixedNumberOfKinds) {
    DenialTally tally;
    for (std::uint32_t number = 0; number < 100; ++number) {
        EXPECT_EQ(tally.add(record(number, 0)).has_value(), number < DenialTally::kKinds);
    }
    EXPECT_EQ(tally.records().size(), DenialTally::kKinds);
    EXPECT_EQ(tally.uncounted(), 100 - DenialTally::kKinds);
    EXPECT_FALSE(tally.add(record(0, 0)).has_value());
    EXPECT_EQ(tally.records()[0].count, 2U);
}

}  // namespace
}  // namespace belljar::jar
