#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/task.h"
#include "base/utf8_stream.h"
#include "engine/run_watch.h"
#include "mcp/notice_wishes.h"

namespace belljar::mcp {

// Tells a client of a run that goes on: its output as it comes, in notifications/progress and
// notifications/message. Few and bounded, however much is written: output is collected for a while,
// and what is too much is left out, which the text says. Shared with its timer; used on the I/O
// thread only.
class RunNotices : public std::enable_shared_from_this<RunNotices> {
   public:
    // At most one notification in this time, on average.
    static constexpr Duration kPause = std::chrono::milliseconds(50);
    // Silent programs make progress, too; clients give up on requests that do not.
    static constexpr Duration kHeartbeat = std::chrono::seconds(10);
    // Of text in one notification.
    static constexpr std::size_t kMostText = 16 * 1024;

    RunNotices(const asio::any_io_executor& executor, NoticeWishes wishes, Notify notify);

    // Keeps this alive. What it hears of after finish() is not told.
    [[nodiscard]] engine::RunWatch watch();
    // So many of so many parts are over. The last one is told by the answer itself.
    void advance(std::size_t over, std::size_t total);
    // The answer follows. A short run ends before anything was told of it, and nothing need be,
    // unless the client asked for log messages.
    void finish();

   private:
    // Text on its way to the client.
    struct Collected {
        std::string text{};
        std::uint64_t dropped = 0;  // bytes that did not fit behind it

        void add(std::string_view more);
        [[nodiscard]] std::string shown() const;
        [[nodiscard]] bool empty() const { return text.empty() && dropped == 0; }
    };
    struct Channel {
        engine::OutputStream stream;
        Severity severity;
        Utf8Stream characters{};
        Collected collected{};
    };

    void begin(const engine::RunStart& start);
    void collect(Channel& channel, std::string_view text);
    void wake_at(TimePoint time);
    void flush();
    [[nodiscard]] std::size_t tell_output();
    bool tell_progress(std::string_view message);
    bool tell_log(Channel& channel);
    bool send(std::string_view method, json::object params);
    [[nodiscard]] bool is_logged(const Channel& channel) const;
    [[nodiscard]] bool has_something() const;

    asio::steady_timer timer_;
    NoticeWishes wishes_;
    Notify notify_;
    std::array<Channel, 2> channels_;
    Collected both_;  // of both streams as it came, for progress
    std::string execution_id_;
    TimePoint begun_;
    TimePoint next_flush_{};
    std::int64_t progress_ = 0;  // milliseconds; always more than the last that was told
    std::size_t sent_ = 0;
    bool flush_awaited_ = false;
    bool finished_ = false;
};

}  // namespace belljar::mcp
