#include "transport/key_fetcher.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

namespace belljar::transport {
namespace {

TEST(KeyAddress, HasParts) {
    const KeyAddress plain = KeyAddress::parse("https://login.example/realm/keys?v=1").value();
    EXPECT_EQ(plain.scheme, KeyAddress::Scheme::Https);
    EXPECT_EQ(plain.host, "login.example");
    EXPECT_EQ(plain.port, "443");
    EXPECT_EQ(plain.target, "/realm/keys?v=1");
    const KeyAddress local = KeyAddress::parse("http://[::1]:8080").value();
    EXPECT_EQ(local.scheme, KeyAddress::Scheme::Http);
    EXPECT_EQ(local.host, "::1");
    EXPECT_EQ(local.port, "8080");
    EXPECT_EQ(local.target, "/");
    EXPECT_EQ(KeyAddress::parse("http://localhost?a").value().target, "/?a");
    EXPECT_EQ(KeyAddress::parse("http://127.0.0.1").value().port, "80");
}

TEST(KeyAddress, IsNothingElse) {
    for (const std::string& url :
         {"", "login.example", "ftp://login.example/", "https://", "https:///keys",
          "https://user@login.example/", "https://login.example:x/", "https://login.example/#a",
          "https://a b/", "https://[::1/", "https://[]/"}) {
        EXPECT_FALSE(KeyAddress::parse(url)) << url;
    }
}

TEST(KeyAddress, TravelsInTheClearOnThisMachineOnly) {
    for (const std::string& url :
         {"http://login.example/", "http://10.0.0.1/", "http://127.0.0.1.evil.example/",
          "http://localhost.evil.example/", "http://0.0.0.0/"}) {
        const Result<KeyAddress> parsed = KeyAddress::parse(url);
        ASSERT_FALSE(parsed) << url;
        EXPECT_NE(parsed.error().message.find("use https"), std::string::npos) << url;
    }
}

class KeyFetcherTest : public testing::Test {
   protected:
    asio::io_context io;
    Log log{"test", LogLevel::Error};
    // Nobody listens at port 1.
    KeyFetcher fetcher{io.get_executor(), KeyAddress::parse("http://127.0.0.1:1/").value(),
                       KeyFetcher::Times{.pause = std::chrono::hours(1)}, log};
};

TEST_F(KeyFetcherTest, WhoAsksIsToldToComeBackOncePerPause) {
    EXPECT_EQ(fetcher.keys().size(), 0U);
    EXPECT_TRUE(fetcher.ask_for_newer());
    EXPECT_TRUE(fetcher.ask_for_newer()) << "it has not begun";
    asio::co_spawn(io, fetcher.fetch(), asio::detached);
    io.run();
    EXPECT_EQ(fetcher.keys().size(), 0U);
    EXPECT_FALSE(fetcher.ask_for_newer()) << "it was tried a moment ago";
}

TEST_F(KeyFetcherTest, EndsWhenItIsTold) {
    asio::co_spawn(io, fetcher.run(), asio::detached);
    io.run_for(std::chrono::milliseconds(20));
    fetcher.stop();
    io.restart();
    io.run();
    EXPECT_FALSE(fetcher.ask_for_newer());
}

}  // namespace
}  // namespace belljar::transport
