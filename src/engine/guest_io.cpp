#include "engine/guest_io.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>
#include <vector>

#include "base/readiness.h"
#include "runner/session_protocol.h"

namespace belljar::engine {
namespace {

using isolation::GuestFd;

constexpr std::size_t kChunk = 64 * 1024;
constexpr Duration kLongestWaitForSign = std::chrono::seconds(60);
constexpr Duration kFirstMoments = std::chrono::milliseconds(5);
constexpr std::size_t kReportLimit = 20 * 1024 * 1024;  // of what the reader takes, and more

// A pipe may hold this much, if its guest enlarges it. More than that was written afterwards.
constexpr std::size_t kMostInPipe = 1024 * 1024;

std::size_t index_of(GuestFd fd) { return static_cast<std::size_t>(fd); }

// Not filled with zeros, which would touch all of it.
struct Buffer {
    std::unique_ptr<char[]> bytes = std::make_unique_for_overwrite<char[]>(kChunk);

    [[nodiscard]] std::span<char> all() const { return {bytes.get(), kChunk}; }
};

}  // namespace

GuestIo::GuestIo(const asio::any_io_executor& executor, const execution::Limits& limits)
    : stdin_(executor),
      stdout_(executor),
      stderr_(executor),
      report_pipe_(executor),
      request_pipe_(executor),
      first_moments_(executor),
      stdout_capture_(limits.output),
      stderr_capture_(limits.output),
      flood_limit_(limits.output_flood.count) {}

Result<GuestIo> GuestIo::create(const asio::any_io_executor& executor,
                                const execution::Limits& limits) {
    GuestIo io(executor, limits);
    using Ends = std::pair<GuestFd, PipeEnd*>;
    const std::array<Ends, 2> inputs{
        {{GuestFd::Stdin, &io.stdin_}, {GuestFd::Request, &io.request_pipe_}}};
    for (const auto& [guest_fd, ours] : inputs) {
        BJ_TRY(Pipe pipe, make_pipe());
        BJ_TRY_VOID(ours->take(std::move(pipe.write_end)));
        io.guest_ends_[index_of(guest_fd)] = std::move(pipe.read_end);
    }
    const std::array<Ends, 3> outputs{{{GuestFd::Stdout, &io.stdout_},
                                       {GuestFd::Stderr, &io.stderr_},
                                       {GuestFd::Report, &io.report_pipe_}}};
    for (const auto& [guest_fd, ours] : outputs) {
        BJ_TRY(Pipe pipe, make_pipe());
        BJ_TRY_VOID(ours->take(std::move(pipe.read_end)));
        io.guest_ends_[index_of(guest_fd)] = std::move(pipe.write_end);
    }
    return io;
}

std::array<Fd, isolation::kGuestFdCount> GuestIo::take_guest_ends(Fd program) {
    guest_ends_[index_of(GuestFd::Program)] = std::move(program);
    return std::exchange(guest_ends_, {});
}

void GuestIo::set_limits(const execution::Limits& limits) {
    stdout_capture_ = outcome::OutputCapture(limits.output);
    stderr_capture_ = outcome::OutputCapture(limits.output);
    flood_limit_ = limits.output_flood.count;
}

Task<bool> GuestIo::await_sign() {
    using asio::experimental::awaitable_operators::operator||;
    if (!report_pipe_.watch()) {
        co_return false;
    }
    std::array<char, 16> buffer{};
    asio::steady_timer deadline(report_pipe_.executor(), kLongestWaitForSign);
    boost::system::error_code ignored;
    const auto first =
        co_await (report_pipe_.read_some(buffer) ||
                  deadline.async_wait(asio::redirect_error(asio::use_awaitable, ignored)));
    const std::size_t count = first.index() == 0 ? std::get<0>(first) : 0;
    report_pipe_.rest();
    report_.append(buffer.data(), count);
    signed_at_ = Clock::now();
    co_return count > 0;
}

Task<void> GuestIo::pump(GuestInput input, LiveStreams live) {
    using asio::experimental::awaitable_operators::operator&&;
    using asio::experimental::awaitable_operators::operator||;
    on_output_ = std::move(live.watch.on_output);
    // The request last: the guest may have to wait for this processor until we do.
    const bool has_stdin = !live.stdin_source.valid() && give(stdin_, input.stdin_text);
    const bool all_given = give(request_pipe_, input.request) && has_stdin;
    bool goes_on = true;
    if (all_given && signed_at_ != TimePoint{}) {
        goes_on = co_await outlast(kFirstMoments);
    }
    if (goes_on && !watch_all()) {
        goes_on = co_await outlast(Duration::max());
    }
    if (!goes_on) {
        co_await drain(OutputStream::Stdout);
        co_await drain(OutputStream::Stderr);
        co_await read_report();
        co_return;
    }
    // Feeding never ends by itself: it is cancelled when the guest's side is closed.
    Task<void> feed = live.stdin_source.valid() ? feed_source(std::move(live.stdin_source))
                                                : feed_text(std::move(input.stdin_text));
    Task<void> request = hand_over(std::move(input.request));
    co_await ((drain(OutputStream::Stdout) && drain(OutputStream::Stderr) && read_report()) ||
              (std::move(request) && std::move(feed)));
}

// Leaves in `text` what does not fit. True if nothing is left, and then the pipe is closed.
bool GuestIo::give(PipeEnd& pipe, std::string& text) {
    if (!text.empty()) {
        text.erase(0, pipe.write_now(text));
    }
    if (text.empty()) {
        pipe.close();
    }
    return text.empty();
}

Task<bool> GuestIo::outlast(Duration time) {
    if (!finished_) {
        first_moments_.expires_at(time == Duration::max() ? TimePoint::max() : Clock::now() + time);
        boost::system::error_code ignored;
        co_await first_moments_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    co_return !finished_;
}

bool GuestIo::watch_all() {
    const std::array<PipeEnd*, 5> pipes{&stdin_, &request_pipe_, &stdout_, &stderr_, &report_pipe_};
    return std::ranges::all_of(pipes, [](PipeEnd* pipe) { return pipe->watch().has_value(); });
}

// A guest that ends without having read all of it is no concern of ours.
Task<void> GuestIo::hand_over(std::string request) {
    co_await request_pipe_.write_all(request);
    request_pipe_.close();
}

void GuestIo::finish() {
    finished_ = true;
    first_moments_.cancel();
    for (PipeEnd* pipe : {&stdout_, &stderr_, &report_pipe_}) {
        pipe->cancel();
    }
}

Task<std::size_t> GuestIo::read_some(PipeEnd* pipe, std::span<char> buffer) {
    std::size_t count = 0;
    if (!finished_) {
        count = co_await pipe->read_some(buffer);
    }
    if (finished_ && count == 0) {
        count = pipe->read_now(buffer);
    }
    co_return count;
}

void GuestIo::mask(privacy::TypeSet types) {
    maskers_ = std::make_unique<std::array<privacy::Masker, 2>>(
        std::array{privacy::Masker(types), privacy::Masker(types)});
}

execution::MaskCounts GuestIo::masked() const {
    execution::MaskCounts sum;
    if (maskers_) {
        for (const privacy::Masker& masker : *maskers_) {
            privacy::add_counts(masker.counts(), sum);
        }
    }
    return sum;
}

Task<void> GuestIo::drain(OutputStream stream) {
    auto& pipe = stream == OutputStream::Stdout ? stdout_ : stderr_;
    privacy::Masker* const masker =
        maskers_ ? &maskers_->at(static_cast<std::size_t>(stream)) : nullptr;
    const Buffer buffer;
    std::size_t rest = kMostInPipe;
    std::uint64_t written = 0;
    bool ended = false;
    while (!ended) {
        const std::size_t count = co_await read_some(&pipe, buffer.all());
        ended = count == 0 || (finished_ && count > rest);
        if (ended && masker == nullptr) {
            co_return;
        }
        rest -= finished_ && !ended ? count : 0;
        std::string_view data(buffer.bytes.get(), ended ? 0 : count);
        written += data.size();
        std::string masked;
        if (masker != nullptr) {
            masked = ended ? masker->finish() : masker->feed(data);
            data = masked;
        }
        if (outgrows(stream, data.size())) {
            co_await keep_beginning(stream);
        }
        take(stream, data);
        check_flood(written);
    }
}

bool GuestIo::outgrows(OutputStream stream, std::size_t more) {
    const outcome::OutputCapture& capture = capture_of(stream);
    return recording_ && capture.is_whole_with(0) && !capture.is_whole_with(more);
}

void GuestIo::take(OutputStream stream, std::string_view data) {
    if (data.empty()) {
        return;
    }
    outcome::OutputCapture& capture = capture_of(stream);
    if (recording_ && !capture.is_whole_with(data.size())) {
        recording_->append(stream, data);
    }
    capture.append(data);
    if (on_output_) {
        on_output_(stream, data);
    }
}

// What was only in memory so far. In pieces, so that other runs get their turn between them.
Task<void> GuestIo::keep_beginning(OutputStream stream) {
    for (std::string_view part : capture_of(stream).whole()) {
        while (!part.empty()) {
            recording_->append(stream, part.substr(0, kChunk));
            part.remove_prefix(std::min(part.size(), kChunk));
            co_await asio::post(stdout_.executor(), asio::use_awaitable);
        }
    }
}

outcome::OutputCapture& GuestIo::capture_of(OutputStream stream) {
    return stream == OutputStream::Stdout ? stdout_capture_ : stderr_capture_;
}

void GuestIo::check_flood(std::uint64_t bytes) {
    if (bytes > flood_limit_ && on_flood_) {
        std::exchange(on_flood_, nullptr)();
    }
}

Task<void> GuestIo::read_report() {
    const Buffer buffer;
    std::uint64_t bytes = 0;
    while (true) {
        const std::size_t count = co_await read_some(&report_pipe_, buffer.all());
        if (count == 0) {
            co_return;
        }
        if (bytes == 0 && signed_at_ == TimePoint{}) {
            signed_at_ = Clock::now();
        }
        // Beyond the limit it is read and forgotten; a report cut short does not parse.
        report_.append(buffer.bytes.get(), std::min(count, kReportLimit - report_.size()));
        bytes += count;
        check_flood(bytes);
        if (on_reading_) {
            take_reading();
        }
    }
}

// The sign stays where it is: the report behind it is read as if there had been no other line.
void GuestIo::take_reading() {
    const std::size_t start = report_.starts_with('\n') ? 1 : 0;
    const std::size_t end = report_.find('\n', start);
    if (end != std::string::npos) {
        std::exchange(on_reading_, nullptr)(std::string_view(report_).substr(start, end - start));
        report_.erase(start, end + 1 - start);
    }
}

void GuestIo::close_stdin() { stdin_.close(); }

void GuestIo::begin_cell(const execution::Limits& limits) {
    set_limits(limits);
    recording_.reset();
    maskers_.reset();
    report_.clear();
    finished_ = false;
    answered_ = false;
    handed_over_ = false;
    behind_order_.clear();
    on_flood_ = nullptr;
}

Task<bool> GuestIo::converse(std::string order, LiveStreams live) {
    using asio::experimental::awaitable_operators::operator&&;
    if (!watch_all()) {
        co_return false;
    }
    on_output_ = std::move(live.watch.on_output);
    co_await (drain(OutputStream::Stdout) && drain(OutputStream::Stderr) && read_answer() &&
              write_order(std::move(order)));
    on_output_ = nullptr;
    co_return answered_;
}

Task<void> GuestIo::write_order(std::string order) {
    const bool written = co_await request_pipe_.write_all(order);
    handed_over_ = true;
    if (written) {
        request_pipe_.write_now(behind_order_);
    }
}

Task<void> GuestIo::read_answer() {
    const Buffer buffer;
    std::optional<std::size_t> size;
    while (!size || report_.size() < *size) {
        const std::size_t count = co_await read_some(&report_pipe_, buffer.all());
        if (count == 0 || report_.size() + count > kReportLimit) {
            break;
        }
        report_.append(buffer.bytes.get(), count);
        size = size ? size : runner::size_of_answer(report_);
    }
    answered_ = size && report_.size() == *size;
    finish();
}

bool GuestIo::interject(std::string_view line) {
    if (!handed_over_) {
        behind_order_ += line;
        return true;
    }
    return request_pipe_.write_now(line) == line.size();
}

Task<void> GuestIo::feed_text(std::string text) {
    co_await stdin_.write_all(text);
    stdin_.close();
    co_await rest_until_cancelled();
}

Task<void> GuestIo::feed_source(Fd source) {
    Result<Readiness> readiness = Readiness::create(stdin_.executor(), source);
    std::vector<char> buffer(kChunk);
    bool open = readiness.has_value();
    while (open) {
        const bool ready = co_await readiness->wait();
        const ssize_t count = ready ? ::read(source.get(), buffer.data(), buffer.size()) : 0;
        if (count <= 0) {
            break;
        }
        open = co_await stdin_.write_all({buffer.data(), static_cast<std::size_t>(count)});
    }
    stdin_.close();
    co_await rest_until_cancelled();
}

Task<void> GuestIo::rest_until_cancelled() {
    asio::steady_timer never(stdin_.executor(), asio::steady_timer::time_point::max());
    boost::system::error_code ignored;
    co_await never.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

}  // namespace belljar::engine
