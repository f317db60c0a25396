#include "mcp/run_notices.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>

#include "base/utf8.h"

namespace belljar::mcp {

using engine::OutputStream;

namespace {

constexpr std::string_view kLogger = "execution";

}  // namespace

void RunNotices::Collected::add(std::string_view more) {
    // Once something is left out, what follows is left out, too.
    const std::size_t room = dropped > 0 ? 0 : kMostText - text.size();
    const std::string_view fitting = utf8_beginning(more, room);
    text += fitting;
    dropped += more.size() - fitting.size();
}

std::string RunNotices::Collected::shown() const {
    return dropped == 0 ? text : fmt::format("{}\n[... {} bytes left out ...]\n", text, dropped);
}

RunNotices::RunNotices(const asio::any_io_executor& executor, NoticeWishes wishes, Notify notify)
    : timer_(executor),
      wishes_(std::move(wishes)),
      notify_(std::move(notify)),
      channels_{{{.stream = OutputStream::Stdout, .severity = Severity::Info},
                 {.stream = OutputStream::Stderr, .severity = Severity::Warning}}},
      begun_(Clock::now()) {}

engine::RunWatch RunNotices::watch() {
    return {.on_start =
                [self = shared_from_this()](const engine::RunStart& start) { self->begin(start); },
            .on_output =
                [self = shared_from_this()](OutputStream stream, std::string_view bytes) {
                    Channel& channel = self->channels_[stream == OutputStream::Stdout ? 0 : 1];
                    self->collect(channel, channel.characters.take(bytes));
                }};
}

void RunNotices::begin(const engine::RunStart& start) {
    execution_id_ = start.execution_id;
    wake_at(Clock::now() + kHeartbeat);
}

void RunNotices::collect(Channel& channel, std::string_view text) {
    if (finished_ || text.empty()) {
        return;
    }
    if (wishes_.wants_progress()) {
        both_.add(text);
    }
    if (is_logged(channel)) {
        channel.collected.add(text);
    }
    if (has_something() && !flush_awaited_) {
        flush_awaited_ = true;
        wake_at(std::max(Clock::now() + kPause, next_flush_));
    }
}

void RunNotices::wake_at(TimePoint time) {
    timer_.expires_at(time);
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
        const std::shared_ptr<RunNotices> self = weak.lock();
        if (!error && self && !self->finished_) {
            self->flush();
        }
    });
}

void RunNotices::flush() {
    std::size_t told = tell_output();
    if (!flush_awaited_ && wishes_.wants_progress() && tell_progress("")) {
        ++told;
    }
    const TimePoint now = Clock::now();
    next_flush_ = now + kPause * static_cast<int>(std::max<std::size_t>(told, 1));
    flush_awaited_ = has_something();  // what the client had no room for
    wake_at(flush_awaited_ ? next_flush_ : now + kHeartbeat);
}

// How many notifications that took.
std::size_t RunNotices::tell_output() {
    std::size_t told = 0;
    if (!both_.empty() && tell_progress(both_.shown())) {
        both_ = {};
        ++told;
    }
    for (Channel& channel : channels_) {
        if (!channel.collected.empty() && tell_log(channel)) {
            channel.collected = {};
            ++told;
        }
    }
    return told;
}

void RunNotices::advance(std::size_t over, std::size_t total) {
    if (!finished_ && wishes_.wants_progress() && over < total) {
        json::object params{
            {"progressToken", wishes_.progress_token}, {"progress", over}, {"total", total}};
        if (wishes_.revision >= Revision::V2025_03_26) {
            params["message"] = fmt::format("{} of {} runs are over", over, total);
        }
        send("notifications/progress", std::move(params));
    }
}

void RunNotices::finish() {
    for (Channel& channel : channels_) {
        collect(channel, channel.characters.finish());
    }
    finished_ = true;
    timer_.cancel();
    if (sent_ > 0 || wishes_.log_level) {
        [[maybe_unused]] const std::size_t told = tell_output();
    }
}

bool RunNotices::tell_progress(std::string_view message) {
    constexpr double kMillisecondsPerSecond = 1000;
    const std::int64_t elapsed =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun_).count();
    const std::int64_t progress = std::max(elapsed, progress_ + 1);
    json::object params{{"progressToken", wishes_.progress_token},
                        {"progress", static_cast<double>(progress) / kMillisecondsPerSecond}};
    if (wishes_.revision >= Revision::V2025_03_26 && !message.empty()) {
        params["message"] = message;
    }
    if (!send("notifications/progress", std::move(params))) {
        return false;
    }
    progress_ = progress;
    return true;
}

bool RunNotices::tell_log(Channel& channel) {
    const json::object data{{"execution_id", execution_id_},
                            {"stream", execution::name_of(channel.stream)},
                            {"text", channel.collected.shown()}};
    return send("notifications/message",
                {{"level", name_of(channel.severity)}, {"logger", kLogger}, {"data", data}});
}

bool RunNotices::send(std::string_view method, json::object params) {
    const bool sent = notify_(to_text(
        json::object{{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}}));
    sent_ += sent ? 1 : 0;
    return sent;
}

bool RunNotices::is_logged(const Channel& channel) const {
    return wishes_.log_level && channel.severity >= *wishes_.log_level;
}

bool RunNotices::has_something() const {
    return !both_.empty() || !channels_[0].collected.empty() || !channels_[1].collected.empty();
}

}  // namespace belljar::mcp
