#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "access/privileges.h"
#include "base/log.h"
#include "base/result.h"
#include "base/task.h"
#include "base/task_group.h"
#include "config/settings.h"
#include "engine/engine.h"
#include "engine/policy_place.h"
#include "engine/warden_link.h"
#include "engine/warden_process.h"

namespace belljar::apps {

// What only a service has, with more than one run ahead of it.
struct ServiceParts {
    engine::OutputPlace outputs{};
    engine::Callers callers = engine::Callers::One;
    engine::JarPool::Bounds pool{};
    std::optional<engine::Zygotes::Lifetime> zygotes{};
    std::optional<engine::Sessions::Bounds> sessions{};
    storage::SessionRegister* session_register = nullptr;
    storage::ConversationStore* conversations = nullptr;
    const storage::UrlSigner* url_signer = nullptr;
    storage::StateDatabase* state = nullptr;
    execution::CleanupOrder cleanup{};
    std::optional<approved::Source> tools{};  // set by Runtime::create
};

[[nodiscard]] std::optional<engine::Sessions::Bounds> session_bounds(
    const config::Settings& settings);
[[nodiscard]] engine::JarPool::Bounds pool_bounds(const config::PoolSettings& settings);

// What serve, mcp, run and doctor have in common: the warden, the link to it, the engine and the
// one I/O thread, put together in the order that privileges demand.
class Runtime {
   public:
    // Starts the warden while privileged and refuses if the isolation is below the floor.
    static Result<std::unique_ptr<Runtime>> create(const config::Settings& settings, LogLevel level,
                                                   ServiceParts parts = {});
    ~Runtime();
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    // Gives root up, if there is root to give up. Everything privileged must be done before.
    Result<void> drop_privileges();
    [[nodiscard]] Result<access::Account> account() const;

    // Runs `main_task` to its end, then ends every jar and whatever else is still running. A
    // termination signal or the loss of the warden calls `on_stop`; a second signal ends the
    // process.
    Result<void> run(Task<Result<void>> main_task, std::function<void()> on_stop);

    // What SIGHUP means; without it, that the terminal is gone, which ends the program.
    void on_hang_up(std::function<void()> handler) { on_hang_up_ = std::move(handler); }
    void change_log_level(LogLevel level) { log_.change_threshold(level); }

    // Reads the rules again now, whether the kernel told of a change or not.
    void look_at_policy() { policy_place_.look(policy_listener()); }

    [[nodiscard]] engine::Engine& engine() { return *engine_; }
    [[nodiscard]] asio::io_context& io() { return io_; }
    [[nodiscard]] const Log& log() const { return log_; }
    [[nodiscard]] TaskGroup& tasks() { return tasks_; }
    [[nodiscard]] const execution::Isolation& isolation() const { return isolation_; }
    // Unavailable if the warden went away by itself.
    [[nodiscard]] Result<void> check_warden() const;

   private:
    Runtime(const config::Settings& settings, LogLevel level, engine::WardenProcess warden,
            runner::Runners runners, ServiceParts parts);
    [[nodiscard]] engine::PolicyPlace::Listener policy_listener();
    Task<void> watch_signals(std::function<void()> on_stop);
    // The next signal that asks for an end; nothing if nobody waits for one any more.
    Task<std::optional<int>> await_end_signal();
    void let_everything_end();

    config::Settings settings_;
    Fd own_tools_;  // those beside the program, if they are served
    Log log_;
    asio::io_context io_;
    TaskGroup tasks_;
    asio::signal_set signals_;
    engine::WardenProcess warden_;
    execution::Isolation isolation_;
    std::unique_ptr<engine::WardenLink> link_;
    std::unique_ptr<engine::Engine> engine_;
    engine::PolicyPlace policy_place_;
    std::function<void()> on_hang_up_;
    bool had_terminal_ = false;
    bool lost_warden_ = false;
};

}  // namespace belljar::apps
