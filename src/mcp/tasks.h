#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/task.h"
#include "base/task_group.h"
#include "mcp/changes.h"
#include "mcp/provider.h"
#include "mcp/rounds.h"

namespace belljar::mcp {

// One call of a tool that goes on after its request has been answered.
class BackgroundTask {
   public:
    enum class Status { Working, InputRequired, Completed, Failed, Cancelled };

    BackgroundTask(const asio::any_io_executor& executor, std::string principal);

    [[nodiscard]] const std::string& id() const { return id_; }
    [[nodiscard]] const std::string& principal() const { return principal_; }
    [[nodiscard]] Status status() const { return status_; }
    [[nodiscard]] bool is_over() const;
    [[nodiscard]] const std::optional<ToolOutcome>& outcome() const { return outcome_; }
    [[nodiscard]] const std::optional<RpcError>& error() const { return error_; }
    // What it waits for; empty unless it does.
    [[nodiscard]] const json::object& requests() const { return needed_.requests; }

    // The members that describe it on the wire.
    [[nodiscard]] json::object describe() const;

   private:
    friend class Tasks;

    std::string id_;
    std::string principal_;
    Status status_ = Status::Working;
    std::chrono::system_clock::time_point created_;
    std::chrono::system_clock::time_point updated_;
    engine::CancellationPtr cancellation_ = std::make_shared<engine::Cancellation>();
    InputNeeded needed_;
    json::object inputs_;  // given so far for what is needed
    std::optional<ToolOutcome> outcome_;
    std::optional<RpcError> error_;
    std::size_t bytes_ = 0;       // that its outcome takes
    asio::steady_timer changed_;  // cancelled with every change; ends with the task's lifetime
};

using BackgroundTaskPtr = std::shared_ptr<BackgroundTask>;

// The tasks of all principals. Bounded in number and in what outcomes take: the oldest that is over
// goes first, before others' that of whoever needs the room. Who has too many under way gets no
// more. Used on the I/O thread only, and awaited at shutdown.
class Tasks {
   public:
    static constexpr std::size_t kMost = 1024;
    static constexpr std::size_t kMostEach = 64;  // under way, of one principal
    static constexpr std::size_t kMostBytes = std::size_t{128} * 1024 * 1024;  // of all outcomes
    static constexpr auto kLifetime = std::chrono::hours(1);
    static constexpr auto kPollInterval = std::chrono::seconds(1);

    // The work is called again when its inputs have come.
    using Work = std::function<Task<RpcResult<Round<ToolOutcome>>>(Asker, engine::CancellationPtr)>;

    Tasks(const asio::any_io_executor& executor, const Log& log, Changes& changes)
        : executor_(executor), log_(log), changes_(changes), running_(executor, log) {}

    [[nodiscard]] RpcResult<BackgroundTaskPtr> begin(Asker asker, Work work);
    // Nothing for one of somebody else.
    [[nodiscard]] BackgroundTaskPtr find(const std::string& principal, const std::string& id);
    void cancel(const BackgroundTaskPtr& task);
    // Answers to what it waits for; others are of no use to it.
    void give(const BackgroundTaskPtr& task, const json::object& inputs);
    // As if it had never been.
    void forget(const BackgroundTaskPtr& task);
    // Until it is over, or waits for input, or the time is up.
    static Task<void> wait(BackgroundTaskPtr task, std::chrono::milliseconds patience,
                           engine::CancellationPtr cancellation);

    // Ends all of them.
    void stop();
    Task<void> wait_for_end(asio::steady_timer::time_point deadline);

   private:
    Task<void> carry_out(BackgroundTaskPtr task, Asker asker, Work work);
    Task<RpcResult<Round<ToolOutcome>>> work_once(Work work, Asker asker,
                                                  engine::CancellationPtr stop);
    Task<void> await_inputs(BackgroundTaskPtr task);
    void enter(const BackgroundTaskPtr& task, BackgroundTask::Status status);
    void finish(const BackgroundTaskPtr& task, ToolOutcome outcome);
    void end_old();
    void make_room(const std::string& principal, std::size_t bytes);

    asio::any_io_executor executor_;
    const Log& log_;
    Changes& changes_;
    TaskGroup running_;
    std::map<std::string, BackgroundTaskPtr> tasks_;
    std::size_t bytes_ = 0;
};

}  // namespace belljar::mcp
