#include "transport/forwarded.h"

#include <gtest/gtest.h>

namespace belljar::transport {
namespace {

using access::HttpRequest;

std::vector<config::AddressRange> proxies() {
    return {config::parse_address_range("10.0.0.0/8").value(),
            config::parse_address_range("fd00::/8").value(),
            config::parse_address_range("unix").value()};
}

HttpRequest request_from(std::string peer, access::Headers headers) {
    headers.emplace("Host", "inner:8080");
    return {.client = std::move(peer), .headers = std::move(headers)};
}

// The request as it is after the proxies were believed.
HttpRequest believed(std::string peer, access::Headers headers) {
    HttpRequest request = request_from(std::move(peer), std::move(headers));
    EXPECT_TRUE(apply_forwarded(request, proxies()).has_value());
    return request;
}

TEST(Forwarded, StrangersAreNotBelieved) {
    const HttpRequest request = believed("192.0.2.1", {{"X-Forwarded-For", "203.0.113.9"},
                                                       {"X-Forwarded-Proto", "https"},
                                                       {"X-Forwarded-Host", "evil.example"},
                                                       {"Forwarded", "for=203.0.113.8"}});
    EXPECT_EQ(request.client, "192.0.2.1");
    EXPECT_EQ(request.scheme, "http");
    EXPECT_EQ(request.header("Host"), "inner:8080");
}

TEST(Forwarded, TheLastHopThatIsNoProxyIsTheClient) {
    const HttpRequest request =
        believed("10.0.0.1", {{"X-Forwarded-For", "198.51.100.7, 203.0.113.9"},
                              {"x-forwarded-for", "10.0.0.2"},
                              {"X-Forwarded-Proto", "https"},
                              {"X-Forwarded-Host", "jars.example"}});
    EXPECT_EQ(request.client, "203.0.113.9") << "what stands before it, the client wrote itself";
    EXPECT_EQ(request.scheme, "https");
    EXPECT_EQ(request.header("Host"), "jars.example");
}

TEST(Forwarded, ReadsTheStandardHeader) {
    const HttpRequest request = believed(
        "unix", {{"Forwarded",
                  "for=198.51.100.7, For=\"[2001:db8::9]:4711\";Proto=HTTPS;host=\"jars.example\", "
                  "for=\"[fd00::2]\";proto=http"}});
    EXPECT_EQ(request.client, "2001:db8::9");
    EXPECT_EQ(request.scheme, "https");
    EXPECT_EQ(request.header("Host"), "jars.example");
}

TEST(Forwarded, ClientsOfTheInnerNetworkAreTheFirst) {
    EXPECT_EQ(believed("10.0.0.1", {{"X-Forwarded-For", "10.1.1.1, 10.0.0.2"}}).client, "10.1.1.1");
    EXPECT_EQ(believed("10.0.0.1", {{"X-Forwarded-For", "192.0.2.5:4711"}}).client, "192.0.2.5");
}

TEST(Forwarded, AHiddenClientLeavesTheProxy) {
    EXPECT_EQ(believed("10.0.0.1", {{"Forwarded", "for=_hidden"}}).client, "10.0.0.1");
    EXPECT_EQ(believed("10.0.0.1", {{"X-Forwarded-For", "unknown"}}).client, "10.0.0.1");
    EXPECT_EQ(believed("10.0.0.1", {{"X-Forwarded-Proto", "https"}}).scheme, "https");
    EXPECT_EQ(believed("10.0.0.1", {{"X-Forwarded-Proto", "gopher"}}).scheme, "http");
    EXPECT_EQ(believed("10.0.0.1", {}).client, "10.0.0.1");
}

TEST(Forwarded, AClientCannotHideWhatItsProxyWrites) {
    for (const char* from : {"[203.0.113.9]\", 198.51.100.7", "6.6.6.6\"x, 198.51.100.7",
                             "\"6.6.6.6, 198.51.100.7", "\", \", 198.51.100.7"}) {
        EXPECT_EQ(believed("10.0.0.1", {{"X-Forwarded-For", from}}).client, "198.51.100.7") << from;
    }
    for (const char* from :
         {"for=6.6.6.6:\", for=198.51.100.7", "for=6.6.6.6;x=\"\\\", for=198.51.100.7",
          "for=6.6.6.6;x=\", for=\"[2001:db8::9]\"", "\", for=198.51.100.7"}) {
        HttpRequest request = request_from("10.0.0.1", {{"Forwarded", from}});
        EXPECT_FALSE(apply_forwarded(request, proxies()).has_value()) << from;
    }
    HttpRequest two = request_from("10.0.0.1", {{"Forwarded", "for=6.6.6.6;x=\""}});
    two.headers.emplace("Forwarded", "for=198.51.100.7");
    EXPECT_FALSE(apply_forwarded(two, proxies()).has_value());
    EXPECT_EQ(
        believed("10.0.0.1", {{"Forwarded", "for=6.6.6.6;x=\"\\\",\", for=198.51.100.7"}}).client,
        "198.51.100.7");
}

TEST(Forwarded, AnAddressIsAllOfItsElement) {
    for (const char* node : {"[2001:db8::9]", "[2001:db8::9]:80", "2001:db8::9"}) {
        EXPECT_EQ(believed("10.0.0.1", {{"X-Forwarded-For", node}}).client, "2001:db8::9") << node;
    }
    for (const char* node :
         {"[2001:db8::9", "[2001:db8::9]x", "[2001:db8::9]:", "[2001:db8::9]:8 0",
          "203.0.113.9:", "203.0.113.9:\"", "203.0.113.9 x", "[]", "["}) {
        EXPECT_EQ(believed("10.0.0.1", {{"X-Forwarded-For", node}}).client, "10.0.0.1") << node;
    }
    EXPECT_EQ(believed("10.0.0.1", {{"Forwarded", "for=\"203.0.113.9:_port\""}}).client,
              "203.0.113.9");
}

TEST(Forwarded, RefusesWhatOnlyAClientCanHaveWritten) {
    HttpRequest both = request_from(
        "10.0.0.1", {{"Forwarded", "for=192.0.2.1"}, {"X-Forwarded-For", "192.0.2.2"}});
    EXPECT_FALSE(apply_forwarded(both, proxies()).has_value());
    HttpRequest broken = request_from("10.0.0.1", {{"Forwarded", "192.0.2.1"}});
    EXPECT_FALSE(apply_forwarded(broken, proxies()).has_value());
    std::string many = "192.0.2.1";
    for (int hop = 0; hop < 100; ++hop) {
        many += ", 192.0.2.1";
    }
    HttpRequest long_way = request_from("10.0.0.1", {{"X-Forwarded-For", many}});
    EXPECT_FALSE(apply_forwarded(long_way, proxies()).has_value());
}

}  // namespace
}  // namespace belljar::transport
