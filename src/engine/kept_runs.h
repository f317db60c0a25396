#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/task_group.h"
#include "engine/cancellation.h"
#include "engine/database_calls.h"
#include "engine/kept_state.h"
#include "engine/run_watch.h"
#include "engine/runs.h"
#include "execution/result.h"

namespace belljar::engine {

// Runs in the state database. Those that go on are also known here, so that they can be ended.
class KeptRuns final : public Runs {
   public:
    struct Bounds {
        std::size_t background = 256;      // runs that nobody waits for
        std::size_t background_each = 32;  // of one principal
    };
    using Execute =
        std::function<Task<Result<execution::RunResult>>(execution::RunRequest, CancellationPtr)>;

    // `execute` is how runs in the background are run; it tells observe() of them like of others.
    KeptRuns(const asio::any_io_executor& executor, storage::StateDatabase& database,
             KeptState& state, Execute execute, const Log& log);

    // Records one run. Shared by the run and its watch; this outlives it.
    class Observation : public std::enable_shared_from_this<Observation> {
       public:
        Observation(KeptRuns& runs, execution::RunView view, CancellationPtr cancellation);

        // The same watch, which records the start, too.
        [[nodiscard]] RunWatch join(RunWatch watch);
        void finish(const std::shared_ptr<const Result<execution::RunResult>>& ended);

       private:
        void start(const RunStart& begun);

        KeptRuns& runs_;
        execution::RunView view_;
        CancellationPtr cancellation_;
    };
    [[nodiscard]] std::shared_ptr<Observation> observe(const execution::RunRequest& request,
                                                       const std::string& code_sha256,
                                                       CancellationPtr cancellation);
    // The isolation that runs have, for their records.
    void set_grade(std::string grade) { grade_ = std::move(grade); }

    Task<Result<execution::RunPage>> list(execution::RunQuery query) override;
    Task<Result<execution::RunRecord>> find(std::optional<std::string> principal,
                                            std::string execution_id) override;
    Task<Result<execution::RunView>> cancel(std::optional<std::string> principal,
                                            std::string execution_id) override;
    Task<Result<execution::RunView>> start(execution::RunRequest request) override;

    // Ends all that a principal has, also what still waits for its turn.
    void cancel_all_of(const std::string& principal);
    // Ends those that nobody waits for.
    void close();

   private:
    struct Asked {
        std::string principal{};
        CancellationPtr cancellation{};
    };

    struct Live {
        execution::RunView view{};
        CancellationPtr cancellation{};
    };

    void write(execution::RunView view, std::shared_ptr<const execution::RunResult> result);
    Task<void> run_in_background(execution::RunRequest request, CancellationPtr cancellation);
    void end_background(const std::string& principal, const std::string& execution_id,
                        std::string failure);

    DatabaseCalls calls_;
    KeptState& state_;
    Execute execute_;
    Bounds bounds_;
    std::string grade_;
    std::map<const Observation*, Asked> observed_;   // until they are over
    std::map<std::string, Live> live_;               // by execution id
    std::map<std::string, std::size_t> background_;  // by principal
    std::size_t background_total_ = 0;
    TaskGroup tasks_;
};

}  // namespace belljar::engine
