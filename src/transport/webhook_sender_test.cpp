#include "transport/webhook_sender.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "base/task_group.h"

namespace belljar::transport {
namespace {

class WebhookSenderTest : public testing::Test {
   protected:
    Result<std::unique_ptr<WebhookSender>> make(WebhookSender::Options options) {
        return WebhookSender::create(io.get_executor(), std::move(options), log);
    }

    asio::io_context io;
    Log log{"test", LogLevel::Error};
};

TEST_F(WebhookSenderTest, RefusesWhatIsNoGoodAddress) {
    for (const std::string& url :
         {"example.org", "ftp://example.org/", "unix:/run/socket", "https://", "https://a@b/",
          "http://example.org/", "http://10.0.0.1/", "http://localhost.evil.example/"}) {
        const auto made = make({.url = url, .secret = "s"});
        ASSERT_FALSE(made) << url;
        EXPECT_TRUE(made.error().message.starts_with("alerts.webhook: ")) << made.error().message;
    }
    const auto unsigned_one = make({.url = "https://example.org/"});
    ASSERT_FALSE(unsigned_one);
    EXPECT_TRUE(unsigned_one.error().message.contains("alerts.webhook_secret"));
    EXPECT_TRUE(make({.url = "https://example.org/a?b=1", .secret = "s"}));
    EXPECT_TRUE(make({.url = "http://127.0.0.1:8080/", .secret = "s"}));
}

TEST_F(WebhookSenderTest, TakesNoMoreThanFits) {
    const auto sender = make({.url = "http://127.0.0.1:1/", .secret = "s", .capacity = 3});
    ASSERT_TRUE(sender);
    for (int index = 0; index < 10; ++index) {
        (*sender)->put("{}");
    }
    EXPECT_EQ((*sender)->figures().waiting, 3U);
    EXPECT_EQ((*sender)->figures().dropped, 7U);
}

TEST_F(WebhookSenderTest, GivesUpAfterSomeTime) {
    // Nobody listens at port 1.
    const auto sender = make({.url = "http://127.0.0.1:1/",
                              .secret = "s",
                              .attempts = 3,
                              .first_pause = std::chrono::milliseconds(1)});
    ASSERT_TRUE(sender);
    TaskGroup tasks(io.get_executor(), log);
    tasks.spawn("webhook", (*sender)->run());
    (*sender)->put("{}");
    (*sender)->put("{}");
    while ((*sender)->figures().given_up < 2) {
        io.run_one();
    }
    EXPECT_EQ((*sender)->figures().waiting, 0U);
    EXPECT_EQ((*sender)->figures().sent, 0U);
    (*sender)->stop();
    io.run();
    EXPECT_EQ(tasks.running(), 0U);
}

}  // namespace
}  // namespace belljar::transport
