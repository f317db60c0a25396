#include "transport/http_head.h"

#include <gtest/gtest.h>

#include <vector>

namespace belljar::transport {
namespace {

unsigned status_of(const std::string& head, const HeadLimits& limits = {}) {
    const std::optional<HeadFault> fault = find_fault(head, limits);
    return fault ? fault->status : 200;
}

std::string with(const std::string& headers) {
    return "POST /p HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n";
}

TEST(HttpHead, TakesOrdinaryHeads) {
    for (const std::string& head :
         {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("GET /a?b=%20c HTTP/1.0\r\n\r\n"),
          std::string("OPTIONS * HTTP/1.1\r\n\r\n"), with("Content-Length: 0\r\n"),
          with("content-length:12\r\n"), with("Transfer-Encoding: Chunked\r\n"),
          with("X-Empty:\r\nX-Text: caf\xC3\xA9\ttab\r\n"), with("X: a\r\nX: b\r\n")}) {
        EXPECT_EQ(status_of(head), 200U) << head;
    }
}

TEST(HttpHead, RefusesTwoOpinionsOnTheLength) {
    for (const std::string& headers :
         {"Content-Length: 3\r\nContent-Length: 3\r\n", "Content-Length: 3, 3\r\n",
          "Content-Length: +3\r\n", "Content-Length: 0x3\r\n", "Content-Length:\r\n",
          "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
          "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
          "Transfer-Encoding: chunked, chunked\r\n", "Transfer-Encoding: gzip, chunked\r\n",
          "Transfer-Encoding: identity\r\n", "Transfer-Encoding: xchunked\r\n",
          "Transfer-Encoding:\x0B chunked\r\n", "Content-Length: 9999999999999999999999\r\n"}) {
        EXPECT_EQ(status_of(with(headers)), 400U) << headers;
    }
    EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400U);
}

TEST(HttpHead, RefusesLinesThatReadersSplitInDifferentWays) {
    for (const std::string& headers :
         {std::string("A: b\r\n c\r\n"), std::string("A: b\r\n\tc\r\n"), std::string("A : b\r\n"),
          std::string(" A: b\r\n"), std::string("A: b\nC: d\r\n"), std::string("A: b\rC: d\r\n"),
          std::string("A: b\0c\r\n", 8), std::string(": b\r\n"), std::string("A\r\n"),
          std::string("A(: b\r\n"), std::string("Host: b\r\n")}) {
        EXPECT_EQ(status_of(with(headers)), 400U) << headers;
    }
    EXPECT_EQ(status_of("GET / HTTP/1.1\nHost: a\n\n"), 400U);
}

TEST(HttpHead, RefusesTargetsThatAreNoPaths) {
    for (const std::string& target :
         {"http://a/", "a:443", "*", "path", "/a b", "/a#b", "/caf\xC3\xA9", "/a%0d%0aB:c", "/a%0A",
          "/a%00", "/?x=%0D%0ay", ""}) {
        EXPECT_EQ(status_of("GET " + target + " HTTP/1.1\r\n\r\n"), 400U) << target;
    }
    EXPECT_EQ(status_of("GET /?x=%0A HTTP/1.1\r\n\r\n"), 200U) << "text of a query may have lines";
}

TEST(HttpHead, RefusesOtherVersions) {
    for (const std::string& line : {"GET /", "GET / HTTP/2.0", "GET / HTTP/1.10", "GET / http/1.1",
                                    "GET  / HTTP/1.1 ", "G@T / HTTP/1.1", " / HTTP/1.1"}) {
        EXPECT_EQ(status_of(line + "\r\n\r\n"), 400U) << line;
    }
}

TEST(HttpHead, HasLimits) {
    const HeadLimits limits{.size = kibibytes(1), .headers = 2, .request_line = Bytes{100}};
    EXPECT_EQ(status_of(with("A: b\r\n"), limits), 200U);
    EXPECT_EQ(status_of(with("A: b\r\nC: d\r\n"), limits), 431U);
    EXPECT_EQ(status_of(with("A: " + std::string(1024, 'x') + "\r\n"), limits), 431U);
    EXPECT_EQ(status_of("GET /" + std::string(100, 'x') + " HTTP/1.1\r\n\r\n", limits), 414U);
}

TEST(HttpHead, WhatCannotBecomeAHeadIsKnownEarly) {
    EXPECT_TRUE(find_early_fault("\x16\x03\x01", {}).has_value());
    EXPECT_TRUE(find_early_fault("GET / HTTP/1.1\n", {}).has_value());
    EXPECT_TRUE(find_early_fault(std::string(40'000, 'x'), {}).has_value());
    EXPECT_FALSE(find_early_fault("GET / HTTP/1.1\r", {}).has_value());
    EXPECT_FALSE(find_early_fault("", {}).has_value());
}

TEST(HttpHead, EndsAfterTheEmptyLine) {
    EXPECT_EQ(find_end_of_head("GET / HTTP/1.1\r\n\r\nbody"), 18U);
    EXPECT_FALSE(find_end_of_head("GET / HTTP/1.1\r\n\r").has_value());
}

}  // namespace
}  // namespace belljar::transport
