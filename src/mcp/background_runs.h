#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/log.h"
#include "base/task_group.h"
#include "engine/executor.h"
#include "mcp/output_tail.h"
#include "mcp/provider.h"

namespace belljar::mcp {

// A run that goes on after the call that began it was answered.
struct BackgroundRun {
    std::string id{};
    std::string principal{};
    execution::OutputForm form = execution::OutputForm::Compact;
    std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
    engine::CancellationPtr cancellation = std::make_shared<engine::Cancellation>();
    std::string execution_id{};  // empty until it has its place
    OutputTail output{};
    std::optional<Result<execution::RunResult>> ended{};
    std::chrono::steady_clock::time_point ended_at{};
    std::size_t bytes = 0;  // that its result takes
    // Whoever waits for the end.
    std::set<std::shared_ptr<asio::steady_timer>> waiting{};
};

using BackgroundRunPtr = std::shared_ptr<BackgroundRun>;

// start_run, poll_run and cancel_run: long runs for clients that cannot wait and know no tasks. A
// run is its principal's alone. Bounded in number and in what results take; the oldest that has
// ended goes first. Borrows what it is given; used on the I/O thread only, and awaited at shutdown.
class BackgroundRuns : public Provider {
   public:
    static constexpr std::size_t kMost = 512;
    static constexpr std::size_t kMostEach = 32;  // under way, of one principal
    static constexpr std::size_t kMostBytes = std::size_t{128} * 1024 * 1024;  // of all results
    static constexpr auto kLifetime = std::chrono::hours(1);
    static constexpr auto kUsualWait = std::chrono::seconds(10);
    static constexpr auto kLongestWait = std::chrono::seconds(50);

    // `tools` has execute_code, whose arguments start_run takes.
    BackgroundRuns(const asio::any_io_executor& io, engine::Executor& executor,
                   const Provider& tools, const Log& log)
        : io_(io), executor_(executor), tools_(tools), running_(io, log) {}

    [[nodiscard]] std::vector<ToolDefinition> tools() const override;
    [[nodiscard]] std::uint64_t tools_version() const override { return tools_.tools_version(); }
    [[nodiscard]] bool has_tool(std::string_view name) const override;
    [[nodiscard]] access::Rights tool_needs(std::string_view name,
                                            const json::object& arguments) const override;
    Task<RpcResult<Round<ToolOutcome>>> call_tool(ToolRequest request,
                                                  engine::CancellationPtr cancellation) override;

    // Ends all of them and takes no more.
    void stop();
    Task<void> wait_for_end(asio::steady_timer::time_point deadline);

   private:
    Result<ToolOutcome> start(ToolRequest request);
    Task<Result<ToolOutcome>> poll(ToolRequest request, engine::CancellationPtr cancellation);
    Task<Result<ToolOutcome>> cancel(ToolRequest request, engine::CancellationPtr cancellation);
    Task<void> carry_out(BackgroundRunPtr run, execution::RunRequest request);
    Task<void> wait_for(BackgroundRunPtr run, std::chrono::milliseconds patience,
                        engine::CancellationPtr cancellation);
    [[nodiscard]] Result<BackgroundRunPtr> find(const ToolRequest& request);
    [[nodiscard]] std::size_t under_way(const std::string& principal) const;
    void make_room();
    void remove(const BackgroundRunPtr& run);

    asio::any_io_executor io_;
    engine::Executor& executor_;
    const Provider& tools_;
    TaskGroup running_;
    std::map<std::string, BackgroundRunPtr> runs_;
    std::size_t bytes_ = 0;
};

}  // namespace belljar::mcp
