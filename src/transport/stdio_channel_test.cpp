#include "transport/stdio_channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <sstream>

#include "base/json.h"
#include "mcp/server.h"
#include "mcp/testing/fake_executor.h"
#include "mcp/testing/vectors.h"

namespace belljar::transport {
namespace {

// Puts two descriptors in the place of standard input and output as long as it lives.
class StandardStreams {
   public:
    StandardStreams(const Fd& input, const Fd& output) {
        ::dup2(input.get(), STDIN_FILENO);
        ::dup2(output.get(), STDOUT_FILENO);
    }
    StandardStreams(const StandardStreams&) = delete;
    StandardStreams& operator=(const StandardStreams&) = delete;
    ~StandardStreams() {
        ::dup2(old_input_.get(), STDIN_FILENO);
        ::dup2(old_output_.get(), STDOUT_FILENO);
    }

   private:
    Fd old_input_{::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)};
    Fd old_output_{::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)};
};

class StdioChannelTest : public testing::Test {
   protected:
    // The lines that are answered to `input`, which then ends.
    std::vector<json::value> converse(const std::string& input,
                                      StdioChannel::Options options = {}) {
        const Fd source = make_sealed_file("input", input).value();
        return converse_from(source, options);
    }

    std::vector<json::value> converse_from(const Fd& source, StdioChannel::Options options = {}) {
        const Fd answers(::memfd_create("answers", MFD_CLOEXEC));
        {
            const StandardStreams streams(source, answers);
            asio::io_context context;
            StdioChannel channel(context.get_executor(), session, options, log);
            asio::co_spawn(context, channel.run(),
                           [](const std::exception_ptr& failure) { EXPECT_FALSE(failure); });
            context.run();
        }
        EXPECT_EQ(::lseek(answers.get(), 0, SEEK_SET), 0);
        std::istringstream lines(read_all(answers, mebibytes(1)).value());
        std::vector<json::value> values;
        for (std::string line; std::getline(lines, line);) {
            values.push_back(parse_json(line).value());
        }
        return values;
    }

    mcp::FakeExecutor executor;
    asio::io_context mcp_io;
    Log mcp_log{"test", LogLevel::Error};
    mcp::Server server{
        mcp_io.get_executor(), executor, {.identity = {.version = "1.2.3"}}, mcp_log};
    mcp::Connection session{server.dispatcher(), server.changes()};
    Log log{"test", LogLevel::Error};
};

const std::string kInitialize =
    mcp::request("initialize", R"("protocolVersion":"2025-06-18","capabilities":{},)"
                               R"("clientInfo":{"name":"t","version":"1"})") +
    "\n";

TEST_F(StdioChannelTest, AnswersLineByLineAndEndsWithItsInput) {
    const auto answers = converse(kInitialize + mcp::notification("notifications/initialized") +
                                  "\n" + mcp::request("tools/list") + "\n");
    ASSERT_EQ(answers.size(), 2U);
    EXPECT_TRUE(answers[0].at("result").as_object().contains("protocolVersion"));
    EXPECT_TRUE(answers[1].at("result").as_object().contains("tools"));
}

TEST_F(StdioChannelTest, ALastLineWithoutItsNewlineCounts) {
    EXPECT_EQ(converse(kInitialize.substr(0, kInitialize.size() - 1)).size(), 1U);
}

TEST_F(StdioChannelTest, NoInputIsNoAnswer) { EXPECT_TRUE(converse("").empty()); }

TEST_F(StdioChannelTest, NonsenseIsAnErrorAndNotTheEnd) {
    const auto answers = converse("nonsense\n" + kInitialize);
    ASSERT_EQ(answers.size(), 2U);
    EXPECT_TRUE(answers[0].as_object().contains("error"));
    EXPECT_TRUE(answers[1].as_object().contains("result"));
}

TEST_F(StdioChannelTest, ALineBeyondTheLimitCostsOnlyItself) {
    const std::string long_line(300'000, 'x');
    const auto answers = converse(long_line + "\n" + kInitialize, {.line_limit = kibibytes(100)});
    ASSERT_FALSE(answers.empty());
    EXPECT_TRUE(answers.back().as_object().contains("result"));
}

// The descriptor may be a terminal that a shell uses afterwards.
TEST_F(StdioChannelTest, LeavesTheBlockingModeAlone) {
    Pipe pipe = make_pipe().value();
    ASSERT_TRUE(write_all(pipe.write_end, kInitialize));
    pipe.write_end.reset();
    EXPECT_EQ(converse_from(pipe.read_end).size(), 1U);
    EXPECT_EQ(::fcntl(pipe.read_end.get(), F_GETFL) & O_NONBLOCK, 0);
}

}  // namespace
}  // namespace belljar::transport
