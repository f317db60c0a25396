#include "base/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/json.h"
#include "base/utf8.h"

namespace belljar {
namespace {

json::value line_with(std::string_view text) {
    const Log log("test", LogLevel::Debug);
    return parse_json(log.format(LogLevel::Info, text, {})).value();
}

TEST(Log, WritesOneJsonObjectWithItsFields) {
    const Log log("warden", LogLevel::Info);
    const json::value line = parse_json(log.format(LogLevel::Warning, "a jar ended",
                                                   {{"jar", std::int64_t{-7}},
                                                    {"seconds", 0.25},
                                                    {"step", "mount"},
                                                    {"reason", std::string("none")}}))
                                 .value();
    EXPECT_EQ(line.at("level").as_string(), "warning");
    EXPECT_EQ(line.at("component").as_string(), "warden");
    EXPECT_EQ(line.at("message").as_string(), "a jar ended");
    EXPECT_EQ(line.at("jar").as_int64(), -7);
    EXPECT_EQ(line.at("seconds").as_double(), 0.25);
    EXPECT_EQ(line.at("step").as_string(), "mount");
    EXPECT_EQ(line.at("reason").as_string(), "none");
    EXPECT_EQ(line.at("time").as_string().size(),
              std::string_view("2026-07-28T09:15:04.123Z").size());
}

TEST(Log, EscapesControlCharacters) {
    const Log log("test", LogLevel::Debug);
    for (char letter = 0; letter < 0x20; ++letter) {
        const std::string text{'a', letter, 'z'};
        const std::string line = log.format(LogLevel::Info, text, {{"key", text}});
        EXPECT_EQ(line.find(letter), std::string::npos) << int{letter};
        EXPECT_EQ(parse_json(line).value().at("message").as_string(), text);
        EXPECT_EQ(parse_json(line).value().at("key").as_string(), text);
    }
    EXPECT_EQ(log.format(LogLevel::Info, "\x7F", {}).find('\x7F'), std::string::npos);
}

// A terminal takes U+009B for the start of a command, like ESC [.
TEST(Log, EscapesTheSecondBlockOfControlCharacters) {
    const Log log("test", LogLevel::Debug);
    for (unsigned second = 0x80; second < 0xA0; ++second) {
        const std::string text{'\xC2', static_cast<char>(second)};
        const std::string line = log.format(LogLevel::Info, text, {});
        EXPECT_EQ(line.find(text), std::string::npos) << second;
        EXPECT_EQ(parse_json(line).value().at("message").as_string(), text);
    }
}

TEST(Log, HostileTextCannotForgeALineOrAField) {
    const std::string hostile = "x\"}\n{\"level\":\"error\",\"message\":\"forged\\";
    const json::value line = line_with(hostile);
    EXPECT_EQ(line.at("message").as_string(), hostile);
    EXPECT_EQ(line.at("level").as_string(), "info");
}

TEST(Log, MakesTextValidUtf8) {
    EXPECT_EQ(line_with("a\xFFz").at("message").as_string(), "a\xEF\xBF\xBDz");
    EXPECT_EQ(line_with("h\xC3\xA9").at("message").as_string(), "h\xC3\xA9");
    EXPECT_EQ(line_with(std::string_view("a\0z", 3)).at("message").as_string(),
              std::string_view("a\0z", 3));
}

TEST(Log, EscapesItsComponentToo) {
    const Log log("a\"\nb", LogLevel::Debug);
    EXPECT_EQ(parse_json(log.format(LogLevel::Info, "", {})).value().at("component").as_string(),
              "a\"\nb");
}

TEST(Log, WritesWholeLinesAtAndAboveItsThreshold) {
    const Log log("test", LogLevel::Warning);
    testing::internal::CaptureStderr();
    log.debug("d");
    log.info("i");
    log.warning("w", {{"n", std::int64_t{1}}});
    log.error("e");
    const std::string written = testing::internal::GetCapturedStderr();
    const std::size_t end = written.find('\n');
    ASSERT_NE(end, std::string::npos);
    EXPECT_EQ(parse_json(written.substr(0, end)).value().at("message").as_string(), "w");
    const std::string second = written.substr(end + 1);
    ASSERT_TRUE(second.ends_with('\n'));
    EXPECT_EQ(parse_json(second.substr(0, second.size() - 1)).value().at("level").as_string(),
              "error");
}

TEST(Log, DebugThresholdLetsEverythingThrough) {
    const Log log("test", LogLevel::Debug);
    testing::internal::CaptureStderr();
    log.debug("d");
    log.info("i");
    const std::string written = testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::ranges::count(written, '\n'), 2);
}

TEST(Log, ThresholdCanBeChangedWhileOthersWrite) {
    Log log("test", LogLevel::Error, std::make_shared<LogTail>(1000));
    testing::internal::CaptureStderr();
    log.info("left out");
    std::atomic<bool> done = false;
    std::thread writer([&log, &done] {
        while (!done) {
            log.debug("d");
        }
    });
    log.change_threshold(LogLevel::Info);
    log.info("written");
    done = true;
    writer.join();
    testing::internal::GetCapturedStderr();
    const std::vector<std::string> lines = log.tail()->lines();
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_NE(lines[0].find("written"), std::string::npos);
}

TEST(Log, CopyHasAThresholdOfItsOwn) {
    Log log("test", LogLevel::Info, std::make_shared<LogTail>(1));
    const Log copy = log;
    log.change_threshold(LogLevel::Error);
    testing::internal::CaptureStderr();
    log.info("left out");
    copy.info("written");
    testing::internal::GetCapturedStderr();
    ASSERT_EQ(log.tail()->lines().size(), 1U);
    EXPECT_NE(log.tail()->lines()[0].find("written"), std::string::npos);
}

TEST(ParseLogLevel, KnowsTheFourNamesAndWarn) {
    EXPECT_EQ(parse_log_level("debug"), LogLevel::Debug);
    EXPECT_EQ(parse_log_level("info"), LogLevel::Info);
    EXPECT_EQ(parse_log_level("warning"), LogLevel::Warning);
    EXPECT_EQ(parse_log_level("warn"), LogLevel::Warning);
    EXPECT_EQ(parse_log_level("error"), LogLevel::Error);
    EXPECT_FALSE(parse_log_level(""));
    EXPECT_FALSE(parse_log_level("trace"));
    EXPECT_FALSE(parse_log_level("info "));
}

TEST(LogTail, KeepsTheLastLines) {
    const auto tail = std::make_shared<LogTail>(2);
    const Log log("test", LogLevel::Info, tail);
    testing::internal::CaptureStderr();
    log.debug("left out");
    log.info("first");
    log.info("second");
    log.error("third");
    testing::internal::GetCapturedStderr();
    const std::vector<std::string> lines = log.tail()->lines();
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_NE(lines[0].find("second"), std::string::npos);
    EXPECT_NE(lines[1].find("third"), std::string::npos);
    EXPECT_EQ(Log("test", LogLevel::Info).tail(), nullptr);
}

}  // namespace
}  // namespace belljar
