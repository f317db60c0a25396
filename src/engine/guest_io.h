#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "base/task.h"
#include "engine/pipe_end.h"
#include "engine/run_watch.h"
#include "execution/limits.h"
#include "isolation/warden_messages.h"
#include "outcome/output_capture.h"
#include "privacy/masker.h"
#include "storage/output_store.h"

namespace belljar::engine {

class FirstReading;
class Stay;

// For a caller that watches a run, and says where standard input and files come from.
struct LiveStreams {
    RunWatch watch{};
    Fd stdin_source{};  // read only as the guest reads; invalid: the request's own text is used
    std::shared_ptr<Stay> stay{};  // whose files the run has; nothing: its workspace is its own
    std::shared_ptr<FirstReading> reading{};  // of the program, before it runs; nothing: none
};

// What a guest reads: the request is for its bootstrap, which reads it to the end and closes it.
struct GuestInput {
    std::string request{};
    std::string stdin_text{};
};

// The server's ends of a guest's pipes. Made before the jar; pump() runs until the guest side has
// closed all that it writes to, which the end of the jar guarantees.
class GuestIo {
   public:
    static Result<GuestIo> create(const asio::any_io_executor& executor,
                                  const execution::Limits& limits);

    // The guest's ends and the program that it starts with, to be sent to the warden.
    std::array<Fd, isolation::kGuestFdCount> take_guest_ends(Fd program);
    // For pipes that were made before it was known what for.
    void set_limits(const execution::Limits& limits);
    // Until the bootstrap says that it waits for the request. False if the guest ended before, or
    // has not said so after a minute.
    Task<bool> await_sign();
    // Called at most once, when a stream exceeds limits.output_flood.
    void on_flood(std::function<void()> handler) { on_flood_ = std::move(handler); }
    // Called at most once, with the line that the guest writes ahead of its report. Without a
    // handler there is no such line.
    void on_reading(std::function<void(std::string_view)> handler) {
        on_reading_ = std::move(handler);
    }
    // A stream that is too long for the result is kept whole in here, from its beginning.
    void keep_in(storage::OutputRecording recording) { recording_.emplace(std::move(recording)); }
    // Until the end of the run or cell, both streams are masked before anybody sees them: what is
    // captured, counted, kept and watched is what comes out of that.
    void mask(privacy::TypeSet types);
    // Until the guest's ends of all outputs are closed, or until finish(). A guest that has given
    // its sign is not listened to in its first moments: most have ended then.
    Task<void> pump(GuestInput input, LiveStreams live);
    // Nobody is left who could write: what is in the pipes is all there is.
    void finish();

    // Of a session, whose guest takes an order after the other, a line each. Its cells have their
    // input with the order.
    void close_stdin();
    // Forgets what the last cell wrote.
    void begin_cell(const execution::Limits& limits);
    // Hands over an order and captures what is written until the guest has answered it with a line,
    // which is report() then. False if it ended instead.
    Task<bool> converse(std::string order, LiveStreams live);
    // From begin_cell() on: a short line behind the order, at once or as soon as that is written.
    // False if nobody reads it.
    [[nodiscard]] bool interject(std::string_view line);

    [[nodiscard]] execution::CapturedStream captured_stdout() const {
        return stdout_capture_.finish();
    }
    [[nodiscard]] execution::CapturedStream captured_stderr() const {
        return stderr_capture_.finish();
    }
    // What was masked in both streams.
    [[nodiscard]] execution::MaskCounts masked() const;
    [[nodiscard]] const std::string& report() const { return report_; }
    // When the bootstrap said that it waits for the request; the beginning of time if it did not.
    [[nodiscard]] TimePoint signed_at() const { return signed_at_; }
    // nullptr without keep_in().
    [[nodiscard]] storage::OutputRecording* recording() {
        return recording_ ? &*recording_ : nullptr;
    }

   private:
    GuestIo(const asio::any_io_executor& executor, const execution::Limits& limits);

    bool give(PipeEnd& pipe, std::string& text);
    // False if the guest has ended in the meantime.
    Task<bool> outlast(Duration time);
    [[nodiscard]] bool watch_all();
    // How much was read; 0 at the end.
    Task<std::size_t> read_some(PipeEnd* pipe, std::span<char> buffer);
    Task<void> drain(OutputStream stream);
    Task<void> keep_beginning(OutputStream stream);
    // Whether it is too long for the result with that many bytes more.
    [[nodiscard]] bool outgrows(OutputStream stream, std::size_t more);
    void take(OutputStream stream, std::string_view data);
    [[nodiscard]] outcome::OutputCapture& capture_of(OutputStream stream);
    Task<void> read_report();
    Task<void> read_answer();
    Task<void> write_order(std::string order);
    void check_flood(std::uint64_t bytes);
    void take_reading();
    Task<void> hand_over(std::string request);
    Task<void> feed_text(std::string text);
    Task<void> feed_source(Fd source);
    Task<void> rest_until_cancelled();

    PipeEnd stdin_;
    PipeEnd stdout_;
    PipeEnd stderr_;
    PipeEnd report_pipe_;
    PipeEnd request_pipe_;
    asio::steady_timer first_moments_;
    std::array<Fd, isolation::kGuestFdCount> guest_ends_;
    outcome::OutputCapture stdout_capture_;
    outcome::OutputCapture stderr_capture_;
    std::optional<storage::OutputRecording> recording_;
    std::unique_ptr<std::array<privacy::Masker, 2>> maskers_;  // nullptr: nothing is masked
    std::string report_;
    TimePoint signed_at_{};
    bool finished_ = false;
    bool answered_ = false;
    bool handed_over_ = false;  // the order, to its last byte
    std::string behind_order_;
    std::uint64_t flood_limit_;
    std::function<void()> on_flood_;
    std::function<void(std::string_view)> on_reading_;
    std::function<void(OutputStream, std::string_view)> on_output_;
};

}  // namespace belljar::engine
