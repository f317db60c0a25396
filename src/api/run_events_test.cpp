#include "api/run_events.h"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <sstream>

#include "base/json.h"

namespace belljar::api {
namespace {

using engine::OutputStream;

struct Event {
    std::string name;
    json::object data;
};

std::vector<Event> parse(const std::string& text) {
    std::vector<Event> events;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("event: ")) {
            events.push_back({.name = line.substr(7), .data = {}});
        } else if (line.starts_with("data: ")) {
            events.back().data = parse_json(line.substr(6)).value().as_object();
        }
    }
    return events;
}

std::vector<std::string> names(const std::vector<Event>& events) {
    std::vector<std::string> found;
    for (const Event& event : events) {
        found.push_back(event.name);
    }
    return found;
}

using Names = std::vector<std::string>;

class RunEventsTest : public testing::Test {
   protected:
    void begin() { watch.on_start({.execution_id = "run-1", .language = "python"}); }
    std::vector<Event> taken() { return parse(stream->take()); }

    access::ResponseStreamPtr stream = std::make_shared<access::ResponseStream>(
        access::ResponseStream::Reader{.on_open = [] {}, .on_piece = [] {}});
    RunEvents events{stream};
    engine::RunWatch watch = events.watch();
    execution::RunResult result{.execution_id = "run-1", .status = execution::Status::Ok};
};

TEST_F(RunEventsTest, TellsARunInOrder) {
    EXPECT_FALSE(stream->is_open());
    begin();
    EXPECT_TRUE(stream->is_open());
    watch.on_output(OutputStream::Stdout, "out");
    watch.on_output(OutputStream::Stderr, "err");
    events.finish(result);
    const std::vector<Event> told = taken();
    EXPECT_EQ(names(told), (Names{"started", "stdout", "stderr", "result"}));
    EXPECT_EQ(told[0].data.at("execution_id"), "run-1");
    EXPECT_EQ(told[1].data.at("text"), "out");
    EXPECT_EQ(told[3].data.at("status"), "ok");
}

TEST_F(RunEventsTest, KeepsCharactersWhole) {
    begin();
    watch.on_output(OutputStream::Stdout, "\xE2\x82");
    watch.on_output(OutputStream::Stderr, "x");
    watch.on_output(OutputStream::Stdout, "\xAC\xFF\xF0");
    events.finish(result);
    const std::vector<Event> told = taken();
    EXPECT_EQ(names(told), (Names{"started", "stderr", "stdout", "stdout", "result"}));
    EXPECT_EQ(told[2].data.at("text"), "\xE2\x82\xAC\xEF\xBF\xBD");
    EXPECT_EQ(told[3].data.at("text"), "\xEF\xBF\xBD");
}

TEST_F(RunEventsTest, TellsOnceHowMuchWasLeftOut) {
    begin();
    const std::string much(64 * 1024, 'x');
    for (int round = 0; round < 16; ++round) {
        watch.on_output(OutputStream::Stdout, much);
    }
    watch.on_output(OutputStream::Stderr, "lost");
    std::vector<Event> told = taken();
    const std::size_t shown = (told.size() - 1) * 16 * 1024;
    watch.on_output(OutputStream::Stdout, "again");
    events.finish(result);
    told = taken();
    EXPECT_EQ(names(told), (Names{"dropped", "stdout", "result"}));
    EXPECT_EQ(told[0].data.at("stdout_bytes"), 16 * much.size() - shown);
    EXPECT_EQ(told[0].data.at("stderr_bytes"), 4);
}

TEST_F(RunEventsTest, ResultFollowsEvenIfNobodyReads) {
    begin();
    watch.on_output(OutputStream::Stdout, std::string(1024 * 1024, 'x'));
    events.finish(result);
    const std::vector<Event> told = taken();
    EXPECT_EQ(told[told.size() - 2].name, "dropped");
    EXPECT_EQ(told.back().name, "result");
}

TEST_F(RunEventsTest, AnErrorIsTheLastEvent) {
    begin();
    events.fail({.code = ErrorCode::Unavailable, .message = "no jar could be made"});
    const std::vector<Event> told = taken();
    EXPECT_EQ(names(told), (Names{"started", "error"}));
    EXPECT_EQ(told[1].data.at("status"), 503);
    EXPECT_EQ(told[1].data.at("error"), "no jar could be made");
}

}  // namespace
}  // namespace belljar::api
