#pragma once

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <vector>

#include "engine/executor.h"
#include "policy/rulebook.h"

namespace belljar::mcp {

// Stands in for the engine in tests: answers every run as told and remembers what was asked.
class FakeExecutor : public engine::Executor {
   public:
    enum class Mode { AnswerAtOnce, WaitForCancellation };

    Task<Result<execution::RunResult>> execute(execution::RunRequest request,
                                               engine::CancellationPtr cancellation,
                                               engine::RunWatch watch) override {
        requests.push_back(std::move(request));
        if (watch.on_start) {
            watch.on_start({.execution_id = "run-1", .language = "python"});
        }
        for (const auto& [stream, bytes] : output) {
            if (watch.on_output) {
                watch.on_output(stream, bytes);
            }
        }
        if (mode == Mode::WaitForCancellation) {
            co_await wait(std::move(cancellation));
            co_return execution::RunResult{.status = execution::Status::Cancelled};
        }
        if (error) {
            co_return fail(*error);
        }
        co_return result;
    }

    Task<Result<execution::SessionView>> obey(execution::SessionOrder order) override {
        orders.push_back(std::move(order));
        co_return session;
    }
    [[nodiscard]] std::vector<execution::SessionView> list_sessions(
        const std::string& principal) const override {
        return principal.empty() ? std::vector{*session} : std::vector<execution::SessionView>{};
    }

    [[nodiscard]] engine::SandboxInfo info() const override { return sandbox; }

    [[nodiscard]] engine::RunFigures figures() const override { return {}; }

    [[nodiscard]] std::shared_ptr<const policy::Rulebook> rulebook() const override {
        return policy::Rulebook::create({}, {}).value();
    }

    Mode mode = Mode::AnswerAtOnce;
    execution::RunResult result{.execution_id = "run-1",
                                .language = "python",
                                .runner = "python3",
                                .status = execution::Status::Ok,
                                .exit_code = 0,
                                .stdout_stream = {.text = "hello\n", .bytes = 6}};
    engine::SandboxInfo sandbox{
        .version = "1.2.3",
        .runners = {{.language = "python", .aliases = {"py"}, .version = "3.11"},
                    {.language = "bash", .aliases = {"sh"}, .version = "5.2"}},
        .maximum_limits = {.timeout = std::chrono::seconds(300)},
        .isolation = {.grade = "A", .tier = "namespaces"}};
    Result<execution::SessionView> session = execution::SessionView{.session_id = "session-1"};
    std::vector<execution::SessionOrder> orders;
    std::optional<Error> error;
    std::vector<std::pair<engine::OutputStream, std::string>> output;  // as it comes
    std::vector<execution::RunRequest> requests;

   private:
    static Task<void> wait(engine::CancellationPtr cancellation) {
        const auto executor = co_await asio::this_coro::executor;
        asio::steady_timer timer(executor, asio::steady_timer::time_point::max());
        if (cancellation->requested()) {
            co_return;
        }
        cancellation->on_request([&timer] { timer.cancel(); });
        boost::system::error_code ignored;
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        cancellation->on_request(nullptr);
    }
};

}  // namespace belljar::mcp
