#include "mcp/notices.h"

#include <gtest/gtest.h>

#include <vector>

namespace belljar::mcp {
namespace {

class NoticesTest : public testing::Test {
   protected:
    std::vector<std::string> sent;
    Asker asker{.notify = [this](std::string message) {
        sent.push_back(std::move(message));
        return true;
    }};
};

TEST_F(NoticesTest, OnlyWhatIsWantedIsTold) {
    EXPECT_TRUE(tell_progress(asker, {.done = 1}));
    EXPECT_TRUE(tell_log(asker, Severity::Error, "x"));
    EXPECT_TRUE(sent.empty());
    asker.wishes.progress_token = 7;
    asker.wishes.log_level = Severity::Warning;
    tell_progress(asker, {.done = 1, .total = 2, .message = "half"});
    tell_log(asker, Severity::Info, "x");
    tell_log(asker, Severity::Error, "y");
    ASSERT_EQ(sent.size(), 2U);
    const json::value progress = parse_json(sent[0]).value();
    EXPECT_EQ(progress.at_pointer("/params/progressToken"), json::value(7));
    EXPECT_EQ(progress.at_pointer("/params/message"), json::value("half"));
    EXPECT_EQ(sent[1], R"({"jsonrpc":"2.0","method":"notifications/message",)"
                       R"("params":{"level":"error","data":"y"}})");
}

TEST_F(NoticesTest, WhereNothingCanBeToldNothingIs) {
    asker.notify = nullptr;
    asker.wishes.progress_token = 7;
    EXPECT_TRUE(tell_progress(asker, {.done = 1}));
}

}  // namespace
}  // namespace belljar::mcp
