#include "config/listen_address.h"

#include <gtest/gtest.h>

namespace belljar::config {
namespace {

TEST(ListenAddress, ReadsHostAndPort) {
    const ListenAddress expected{.host = "127.0.0.1", .port = 8080};
    EXPECT_EQ(parse_listen_address("127.0.0.1:8080").value(), expected);
    EXPECT_EQ(parse_listen_address("localhost:0").value(), (ListenAddress{"localhost", 0}));
    EXPECT_EQ(parse_listen_address(":8080").value(), (ListenAddress{"", 8080}));
    EXPECT_EQ(parse_listen_address("[::1]:65535").value(), (ListenAddress{"::1", 65535}));
}

TEST(ListenAddress, RefusesWhatIsNoAddress) {
    for (const std::string_view text : {"",
                                        ":",
                                        "8080",
                                        "127.0.0.1",
                                        "127.0.0.1:",
                                        "127.0.0.1:65536",
                                        "127.0.0.1:-1",
                                        "127.0.0.1:80 ",
                                        "127.0.0.1: 80",
                                        "127.0.0.256:80",
                                        "1.2.3:80",
                                        "::1:80",
                                        "[::1]",
                                        "[::1:80",
                                        "[]:80",
                                        "[127.0.0.1]:80",
                                        "[::g]:80",
                                        "a b:80",
                                        "a/b:80",
                                        "user@host:80",
                                        "host:http",
                                        "host:0x50"}) {
        EXPECT_FALSE(parse_listen_address(text).has_value()) << text;
    }
    EXPECT_FALSE(parse_listen_address(std::string_view("a\0b:80", 6)).has_value());
    EXPECT_FALSE(parse_listen_address(std::string(300, 'a') + ":80").has_value());
}

TEST(ListenAddress, FormatsWhatItReads) {
    for (const std::string_view text : {"127.0.0.1:8080", ":0", "[::1]:80", "example.com:443"}) {
        EXPECT_EQ(format_listen_address(parse_listen_address(text).value()), text);
    }
}

TEST(ListenAddress, KnowsWhatOnlyThisMachineReaches) {
    for (const std::string_view text : {"127.0.0.1:1", "127.8.8.8:1", "localhost:1", "[::1]:1"}) {
        EXPECT_TRUE(is_loopback(parse_listen_address(text).value())) << text;
    }
    for (const std::string_view text :
         {":1", "0.0.0.0:1", "[::]:1", "10.0.0.1:1", "localhost.example:1", "128.0.0.1:1"}) {
        EXPECT_FALSE(is_loopback(parse_listen_address(text).value())) << text;
    }
}

}  // namespace
}  // namespace belljar::config
