#include "engine/guest_io.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <utility>
#include <vector>

#include "base/readiness.h"
#include "runner/session_protocol.h"

namespace belljar::engine {
namespace {

using isolation::GuestFd;

constexpr std::size_t kChunk = 64 * 1024;
constexpr std::size_t kReportLimit = 20 * 1024 * 1024;  // of what the reader takes, and more

// A pipe may hold this much, if its guest enlarges it. More than that was written afterwards.
constexpr std::size_t kMostInPipe = 1024 * 1024;

std::size_t index_of(GuestFd fd) { return static_cast<std::size_t>(fd); }

Result<void> assign(asio::posix::stream_descriptor& descriptor, Fd fd) {
    boost::system::error_code error;
    descriptor.assign(fd.get(), error);
    if (error) {
        return fail(system_error("watch a pipe", error.value()));
    }
    [[maybe_unused]] const int owned = fd.release();
    descriptor.non_blocking(true, error);
    if (error) {
        return fail(system_error("make a pipe non-blocking", error.value()));
    }
    return {};
}

}  // namespace

GuestIo::GuestIo(const asio::any_io_executor& executor, const execution::Limits& limits)
    : stdin_(executor),
      stdout_(executor),
      stderr_(executor),
      report_pipe_(executor),
      request_pipe_(executor),
      stdout_capture_(limits.output),
      stderr_capture_(limits.output),
      flood_limit_(limits.output_flood.count) {}

Result<GuestIo> GuestIo::create(const asio::any_io_executor& executor,
                                const execution::Limits& limits) {
    GuestIo io(executor, limits);
    using Ends = std::pair<GuestFd, asio::posix::stream_descriptor*>;
    const std::array<Ends, 2> inputs{
        {{GuestFd::Stdin, &io.stdin_}, {GuestFd::Request, &io.request_pipe_}}};
    for (const auto& [guest_fd, ours] : inputs) {
        BJ_TRY(Pipe pipe, make_pipe());
        BJ_TRY_VOID(assign(*ours, std::move(pipe.write_end)));
        io.guest_ends_[index_of(guest_fd)] = std::move(pipe.read_end);
    }
    const std::array<Ends, 3> outputs{{{GuestFd::Stdout, &io.stdout_},
                                       {GuestFd::Stderr, &io.stderr_},
                                       {GuestFd::Report, &io.report_pipe_}}};
    for (const auto& [guest_fd, ours] : outputs) {
        BJ_TRY(Pipe pipe, make_pipe());
        BJ_TRY_VOID(assign(*ours, std::move(pipe.read_end)));
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
    std::array<char, 16> buffer{};
    boost::system::error_code error;
    const std::size_t count = co_await report_pipe_.async_read_some(
        asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, error));
    report_.append(buffer.data(), count);
    signed_at_ = Clock::now();
    co_return !error;
}

Task<void> GuestIo::pump(GuestInput input, LiveStreams live) {
    using asio::experimental::awaitable_operators::operator&&;
    using asio::experimental::awaitable_operators::operator||;
    on_output_ = std::move(live.watch.on_output);
    // Feeding never ends by itself: it is cancelled when the guest's side is closed.
    Task<void> feed = live.stdin_source.valid() ? feed_source(std::move(live.stdin_source))
                                                : feed_text(std::move(input.stdin_text));
    Task<void> request = hand_over(std::move(input.request));
    co_await ((drain(OutputStream::Stdout) && drain(OutputStream::Stderr) && read_report()) ||
              (std::move(request) && std::move(feed)));
}

// A guest that ends without having read all of it is no concern of ours.
Task<void> GuestIo::hand_over(std::string request) {
    boost::system::error_code ignored;
    co_await asio::async_write(request_pipe_, asio::buffer(request),
                               asio::redirect_error(asio::use_awaitable, ignored));
    request_pipe_.close(ignored);
}

void GuestIo::finish() {
    finished_ = true;
    for (asio::posix::stream_descriptor* pipe : {&stdout_, &stderr_, &report_pipe_}) {
        boost::system::error_code ignored;
        pipe->cancel(ignored);
    }
}

Task<std::size_t> GuestIo::read_some(asio::posix::stream_descriptor* pipe, std::span<char> buffer) {
    boost::system::error_code error;
    std::size_t count = 0;
    if (!finished_) {
        count = co_await pipe->async_read_some(asio::buffer(buffer.data(), buffer.size()),
                                               asio::redirect_error(asio::use_awaitable, error));
    }
    if (finished_ && count == 0) {
        count = pipe->read_some(asio::buffer(buffer.data(), buffer.size()), error);
    }
    co_return error ? 0 : count;
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
    std::vector<char> buffer(kChunk);
    std::size_t rest = kMostInPipe;
    std::uint64_t written = 0;
    bool ended = false;
    while (!ended) {
        const std::size_t count = co_await read_some(&pipe, buffer);
        ended = count == 0 || (finished_ && count > rest);
        if (ended && masker == nullptr) {
            co_return;
        }
        rest -= finished_ && !ended ? count : 0;
        std::string_view data(buffer.data(), ended ? 0 : count);
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
            co_await asio::post(stdout_.get_executor(), asio::use_awaitable);
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
    std::vector<char> buffer(kChunk);
    std::uint64_t bytes = 0;
    while (true) {
        const std::size_t count = co_await read_some(&report_pipe_, buffer);
        if (count == 0) {
            co_return;
        }
        if (bytes == 0 && signed_at_ == TimePoint{}) {
            signed_at_ = Clock::now();
        }
        // Beyond the limit it is read and forgotten; a report cut short does not parse.
        report_.append(buffer.data(), std::min(count, kReportLimit - report_.size()));
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

void GuestIo::close_stdin() {
    boost::system::error_code ignored;
    stdin_.close(ignored);
}

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
    on_output_ = std::move(live.watch.on_output);
    co_await (drain(OutputStream::Stdout) && drain(OutputStream::Stderr) && read_answer() &&
              write_order(std::move(order)));
    on_output_ = nullptr;
    co_return answered_;
}

Task<void> GuestIo::write_order(std::string order) {
    boost::system::error_code error;
    co_await asio::async_write(request_pipe_, asio::buffer(order),
                               asio::redirect_error(asio::use_awaitable, error));
    handed_over_ = true;
    if (!behind_order_.empty() && !error) {
        request_pipe_.write_some(asio::buffer(behind_order_), error);
    }
}

Task<void> GuestIo::read_answer() {
    std::vector<char> buffer(kChunk);
    std::optional<std::size_t> size;
    while (!size || report_.size() < *size) {
        const std::size_t count = co_await read_some(&report_pipe_, buffer);
        if (count == 0 || report_.size() + count > kReportLimit) {
            break;
        }
        report_.append(buffer.data(), count);
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
    boost::system::error_code error;
    return request_pipe_.write_some(asio::buffer(line), error) == line.size() && !error;
}

Task<void> GuestIo::feed_text(std::string text) {
    boost::system::error_code ignored;
    co_await asio::async_write(stdin_, asio::buffer(text),
                               asio::redirect_error(asio::use_awaitable, ignored));
    stdin_.close(ignored);
    co_await rest_until_cancelled();
}

Task<void> GuestIo::feed_source(Fd source) {
    boost::system::error_code error;
    Result<Readiness> readiness = Readiness::create(stdin_.get_executor(), source);
    std::vector<char> buffer(kChunk);
    while (readiness && !error) {
        const bool ready = co_await readiness->wait();
        const ssize_t count = ready ? ::read(source.get(), buffer.data(), buffer.size()) : 0;
        if (count <= 0) {
            break;
        }
        co_await asio::async_write(stdin_,
                                   asio::buffer(buffer.data(), static_cast<std::size_t>(count)),
                                   asio::redirect_error(asio::use_awaitable, error));
    }
    stdin_.close(error);
    co_await rest_until_cancelled();
}

Task<void> GuestIo::rest_until_cancelled() {
    asio::steady_timer never(stdin_.get_executor(), asio::steady_timer::time_point::max());
    boost::system::error_code ignored;
    co_await never.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

}  // namespace belljar::engine
