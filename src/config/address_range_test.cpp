#include "config/address_range.h"

#include <gtest/gtest.h>

#include <vector>

namespace belljar::config {
namespace {

bool is_in(std::string_view range, std::string_view address) {
    return parse_address_range(range).value().contains(address);
}

TEST(AddressRange, HoldsTheAddressesThatBeginAlike) {
    EXPECT_TRUE(is_in("10.0.0.0/8", "10.255.0.1"));
    EXPECT_FALSE(is_in("10.0.0.0/8", "11.0.0.1"));
    EXPECT_TRUE(is_in("192.0.2.128/25", "192.0.2.129"));
    EXPECT_FALSE(is_in("192.0.2.128/25", "192.0.2.127"));
    EXPECT_TRUE(is_in("fd00::/8", "fd12::1"));
    EXPECT_FALSE(is_in("fd00::/8", "fe80::1"));
    EXPECT_TRUE(is_in("0.0.0.0/0", "203.0.113.9"));
    EXPECT_FALSE(is_in("0.0.0.0/0", "2001:db8::1"));
}

TEST(AddressRange, OneAddressIsARangeOfItsOwn) {
    EXPECT_TRUE(is_in("127.0.0.1", "127.0.0.1"));
    EXPECT_FALSE(is_in("127.0.0.1", "127.0.0.2"));
    EXPECT_TRUE(is_in("::1", "0:0:0:0:0:0:0:1"));
}

TEST(AddressRange, AnAddressOfIpv4IsTheSameInIpv6) {
    EXPECT_TRUE(is_in("127.0.0.1", "::ffff:127.0.0.1"));
    EXPECT_TRUE(is_in("fe80::/10", "fe80::1%eth0"));
}

TEST(AddressRange, UnixSocketsHaveNoAddress) {
    EXPECT_TRUE(is_in("unix", "unix"));
    EXPECT_FALSE(is_in("unix", "127.0.0.1"));
    EXPECT_FALSE(is_in("0.0.0.0/0", "unix"));
    EXPECT_FALSE(is_in("::/0", "unix"));
}

TEST(AddressRange, RefusesWhatIsNoRange) {
    for (const std::string_view text :
         {"", "localhost", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8",
          "10.0.0", "10.0.0.0/8 ", "fe80::1%eth0", "/8", "unix/8"}) {
        EXPECT_FALSE(parse_address_range(text).has_value()) << text;
    }
}

TEST(AddressRange, NothingIsInWhatIsNoAddress) {
    const std::vector<AddressRange> ranges{parse_address_range("0.0.0.0/0").value(),
                                           parse_address_range("::/0").value()};
    EXPECT_TRUE(contains(ranges, "10.0.0.1"));
    EXPECT_FALSE(contains(ranges, "unknown"));
    EXPECT_FALSE(contains({}, "10.0.0.1"));
}

}  // namespace
}  // namespace belljar::config
