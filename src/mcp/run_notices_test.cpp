#include "mcp/run_notices.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>

namespace belljar::mcp {
namespace {

using engine::OutputStream;

class RunNoticesTest : public testing::Test {
   protected:
    void start(NoticeWishes wishes) {
        notices = std::make_shared<RunNotices>(
            context.get_executor(), std::move(wishes), [this](const std::string& message) {
                if (!takes) {
                    return false;
                }
                sent.push_back(parse_json(message).value().as_object());
                return true;
            });
        watch = notices->watch();
        watch.on_start({.execution_id = "run-1", .language = "python"});
    }
    // Until something was sent, or the time in which something would have been.
    void pass_time(Duration time = RunNotices::kPause * 4) {
        context.restart();
        context.run_for(time);
    }
    std::string text_of(std::size_t index) const {
        const json::object& params = sent.at(index).at("params").as_object();
        const json::value* data = params.if_contains("data");
        const json::value& text = data != nullptr ? data->at("text") : params.at("message");
        return std::string(text.as_string());
    }

    asio::io_context context;
    std::shared_ptr<RunNotices> notices;
    engine::RunWatch watch;
    std::vector<json::object> sent;
    bool takes = true;
};

TEST_F(RunNoticesTest, ProgressCarriesOutputAndIncreases) {
    start({.progress_token = "t"});
    double last = 0;
    for (const std::string& text : {"one", "two", "three"}) {
        watch.on_output(OutputStream::Stdout, text);
        pass_time();
        ASSERT_FALSE(sent.empty());
        EXPECT_EQ(sent.back().at("method"), "notifications/progress");
        const json::object& params = sent.back().at("params").as_object();
        EXPECT_EQ(params.at("progressToken"), "t");
        EXPECT_EQ(params.at("message"), json::value(text));
        EXPECT_GT(params.at("progress").to_number<double>(), last);
        last = params.at("progress").to_number<double>();
    }
    EXPECT_EQ(sent.size(), 3U);
}

TEST_F(RunNoticesTest, OldestRevisionHasNoMessage) {
    start({.revision = Revision::V2024_11_05, .progress_token = 1});
    watch.on_output(OutputStream::Stdout, "text");
    pass_time();
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_FALSE(sent[0].at("params").as_object().contains("message"));
}

TEST_F(RunNoticesTest, LogMessagesHaveLevels) {
    start({.log_level = Severity::Info});
    watch.on_output(OutputStream::Stdout, "out");
    watch.on_output(OutputStream::Stderr, "err");
    pass_time();
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(sent[0].at("method"), "notifications/message");
    EXPECT_EQ(sent[0].at("params").at("level"), "info");
    EXPECT_EQ(sent[0].at("params").at("data").at("stream"), "stdout");
    EXPECT_EQ(sent[0].at("params").at("data").at("execution_id"), "run-1");
    EXPECT_EQ(sent[1].at("params").at("level"), "warning");
    EXPECT_EQ(text_of(1), "err");
}

TEST_F(RunNoticesTest, WhatIsBelowTheLevelIsNotTold) {
    start({.log_level = Severity::Warning});
    watch.on_output(OutputStream::Stdout, "out");
    watch.on_output(OutputStream::Stderr, "err");
    notices->finish();
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(text_of(0), "err");
}

TEST_F(RunNoticesTest, CollectsWhatComesFast) {
    start({.progress_token = "t"});
    for (int round = 0; round < 1000; ++round) {
        watch.on_output(OutputStream::Stdout, "x");
    }
    pass_time();
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(text_of(0), std::string(1000, 'x'));
}

TEST_F(RunNoticesTest, LeavesOutWhatIsTooMuchAndSaysSo) {
    start({.progress_token = "t"});
    for (int round = 0; round < 100; ++round) {
        watch.on_output(OutputStream::Stdout, std::string(1024, 'x'));
    }
    pass_time();
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(text_of(0),
              std::string(RunNotices::kMostText, 'x') + "\n[... 86016 bytes left out ...]\n");
}

TEST_F(RunNoticesTest, SaysNothingOfAShortRun) {
    start({.progress_token = "t"});
    watch.on_output(OutputStream::Stdout, "hello");
    notices->finish();
    pass_time();
    EXPECT_TRUE(sent.empty());
}

TEST_F(RunNoticesTest, SaysTheRestOfARunThatWasSpokenOf) {
    start({.progress_token = "t"});
    watch.on_output(OutputStream::Stdout, "one \xE2\x82");
    pass_time();
    watch.on_output(OutputStream::Stdout, "\xAC two \xF0");
    notices->finish();
    watch.on_output(OutputStream::Stdout, "three");
    pass_time();
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(text_of(0), "one ");
    EXPECT_EQ(text_of(1), "\xE2\x82\xAC two \xEF\xBF\xBD");
}

TEST_F(RunNoticesTest, KeepsWhatTheClientHasNoRoomFor) {
    start({.progress_token = "t"});
    takes = false;
    watch.on_output(OutputStream::Stdout, "one ");
    pass_time();
    takes = true;
    watch.on_output(OutputStream::Stdout, "two");
    pass_time();
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(text_of(0), "one two");
}

TEST_F(RunNoticesTest, PartsOfABatchAreCounted) {
    start({.progress_token = "t"});
    notices->advance(1, 3);
    notices->advance(2, 3);
    notices->advance(3, 3);
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(sent[1].at("params").at("progress"), 2);
    EXPECT_EQ(sent[1].at("params").at("total"), 3);
}

}  // namespace
}  // namespace belljar::mcp
