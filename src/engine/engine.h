#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "base/task.h"
#include "engine/admission.h"
#include "engine/executor.h"
#include "engine/guest_io.h"
#include "engine/jar_pool.h"
#include "engine/launched_jar.h"
#include "engine/output_place.h"
#include "engine/run_counters.h"
#include "engine/run_feed.h"
#include "engine/sessions.h"
#include "engine/warden_link.h"
#include "engine/zygotes.h"
#include "policy/decision.h"
#include "runner/manifest.h"
#include "storage/output_store.h"

namespace belljar::engine {

// Tells the story of a run: policy, admission, jar, guest, outcome. One per server, on the I/O
// thread; borrows the link to the warden.
class Engine final : public Executor {
   public:
    struct Options {
        std::string version{};
        policy::Policy policy{};
        Admission::Bounds admission{};
        Duration queue_time = std::chrono::seconds(30);  // from the request to its start at most
        JarPool::Bounds pool{};
        std::optional<Zygotes::Lifetime> zygotes{};  // nothing: there are none
        execution::Isolation isolation{};
        OutputPlace outputs{};
        std::optional<Sessions::Bounds> sessions{};            // nothing: there are none
        storage::SessionRegister* session_register = nullptr;  // outlives the engine
        std::size_t batch_parallel = 4;
    };

    Engine(const asio::any_io_executor& executor, WardenLink& warden, runner::Runners runners,
           Options options, const Log& log);

    using Executor::execute;
    Task<Result<execution::RunResult>> execute(execution::RunRequest request,
                                               CancellationPtr cancellation,
                                               RunWatch watch) override;
    // The same for a caller at a terminal, whose own input the program may read.
    Task<Result<execution::RunResult>> execute_live(execution::RunRequest request,
                                                    CancellationPtr cancellation, LiveStreams live);
    [[nodiscard]] SandboxInfo info() const override;

    [[nodiscard]] RunFigures figures() const override;
    // What is told of runs while they go on.
    [[nodiscard]] RunFeed& feed() { return feed_; }

    Task<Result<execution::SessionView>> obey(execution::SessionOrder order) override;
    [[nodiscard]] std::vector<execution::SessionView> list_sessions(
        const std::string& principal) const override;

    // Lets each language look at a jar from inside and remembers its version. The error says in a
    // sentence why no jar can be trusted here; without one, jars may be made ahead from now on.
    Task<Result<void>> self_test();
    // From now on execute() waits until the self-test has passed, and refuses if it has not.
    void require_self_test();
    // Makes no more jars ahead. Runs end by themselves or with the link to the warden.
    void close();
    [[nodiscard]] bool ready() const { return trial_ == Trial::Passed && warden_.alive(); }

   private:
    enum class Trial { NotRequired, Awaited, Passed, Failed };

    Task<Result<void>> await_trial();
    // Keeps interpreters warm, from which guests are forked.
    void start_zygotes();
    Task<Result<void>> test_jars();
    Task<Result<void>> test_jar(const runner::Manifest* manifest, std::uint32_t zygote);
    [[nodiscard]] execution::RunPlan plan_trial(const runner::Manifest& manifest) const;
    Task<Result<execution::RunResult>> run(execution::RunRequest request,
                                           CancellationPtr cancellation, LiveStreams live);
    Task<Result<execution::RunResult>> run_in_jar(execution::RunPlan plan,
                                                  const runner::Manifest* manifest,
                                                  CancellationPtr cancellation, LiveStreams live);
    Task<Result<execution::RunResult>> run_once(const execution::RunPlan* plan,
                                                const runner::Manifest* manifest, LaunchedJar jar,
                                                CancellationPtr cancellation, LiveStreams live);
    // A jar whose guest waits for what it is told, with no clock yet.
    Task<Result<LaunchedJar>> launch_session(const runner::Manifest* manifest,
                                             execution::Limits limits);
    Task<Result<execution::RawExit>> await_end(LaunchedJar* jar, TimePoint give_up);

    asio::any_io_executor executor_;
    WardenLink& warden_;
    runner::Runners runners_;
    Options options_;
    Admission admission_;
    JarPool pool_;
    const Log& log_;
    std::optional<Zygotes> zygotes_;
    std::optional<Sessions> sessions_;
    std::map<std::string, std::string> versions_;  // by language
    RunCounters counters_;
    RunFeed feed_{RunFeed::Bounds{}};
    Trial trial_ = Trial::NotRequired;
    asio::steady_timer trial_over_;
};

}  // namespace belljar::engine
