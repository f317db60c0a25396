#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "engine/conversations.h"
#include "engine/run_counters.h"
#include "engine/run_watch.h"
#include "engine/runs.h"
#include "engine/state.h"
#include "execution/limits.h"
#include "execution/principal_limits.h"
#include "execution/request.h"
#include "execution/result.h"
#include "execution/session.h"

namespace belljar::policy {
class Rulebook;
}

namespace belljar::engine {

// What this installation is and allows, for get_sandbox_info and for people.
struct SandboxInfo {
    // How its guests come into being: forked from a warm interpreter, in a jar that waits for them,
    // or each from nothing.
    enum class Kind { Zygote, Pool, Started };

    struct Runner {
        std::string language{};
        std::vector<std::string> aliases{};
        std::string version{};
        std::string title{};
        std::string runner{};
        bool usable = true;
        std::string reason{};  // why not
        Kind kind = Kind::Started;
        execution::Limits limits{};  // of a run that asks for none

        bool operator==(const Runner&) const = default;
    };

    std::string version{};
    std::vector<Runner> runners{};  // known, usable or not
    execution::Limits default_limits{};
    execution::Limits maximum_limits{};
    execution::Isolation isolation{};
    std::size_t batch_parallel = 4;  // runs of one batch under way at once

    // A choice of modules that programs may be held to.
    struct Profile {
        std::string name{};
        std::vector<std::string> modules{};  // of Python, without those that it takes over
        bool controls_imports = false;
        bool enabled = true;  // whether programs can make use of them

        bool operator==(const Profile&) const = default;
    };
    std::vector<Profile> profiles{};
    std::string default_profile = "standard";

    bool operator==(const SandboxInfo&) const = default;
};

[[nodiscard]] std::string_view name_of(SandboxInfo::Kind kind);

// What would become of a request: under which limits it would run, and where.
struct RunPreview {
    std::string language{};
    std::string runner{};
    execution::Limits limits{};
    std::vector<execution::CappedLimit> capped{};
    execution::Isolation isolation{};
    std::string profile{};
    std::string policy_version{};
    std::vector<execution::Finding> findings{};
    bool asks = false;  // a person has to agree before it may run
};

// What is known of the rules besides what they say.
struct PolicyNews {
    std::chrono::system_clock::time_point since{};  // in force
    std::string problem{};                          // why what is written now is not
};

// A person's word that a program may run although policy wants somebody to look at it first.
struct Approval {
    std::string code_sha256{};
    std::string approver{};  // its principal
    std::chrono::seconds lifetime = std::chrono::hours(1);
};

// Whether runs are taken. Those that have begun go on in either case.
enum class Intake { Open, Drained };

// The seam between the protocols and the engine. Protocol layers know nothing else of what is
// below.
class Executor {
   public:
    Executor() = default;
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;
    virtual ~Executor() = default;

    // One run in a jar of its own. An Error means that Belljar refused or could not; whatever the
    // guest did is in the RunResult.
    virtual Task<Result<execution::RunResult>> execute(execution::RunRequest request,
                                                       CancellationPtr cancellation,
                                                       RunWatch watch) = 0;
    // The same for a caller that wants nothing but the result.
    Task<Result<execution::RunResult>> execute(execution::RunRequest request,
                                               CancellationPtr cancellation) {
        return execute(std::move(request), std::move(cancellation), RunWatch{});
    }
    // What execute() would decide about the request before anything runs; its error is the refusal.
    virtual Task<Result<RunPreview>> preview(execution::RunRequest /*request*/) {
        co_return fail(ErrorCode::Unsupported, "decisions cannot be asked for here");
    }
    // What is asked of a session besides running a cell in it.
    virtual Task<Result<execution::SessionView>> obey(execution::SessionOrder /*order*/) {
        co_return fail(ErrorCode::Unsupported, "sessions are not kept here");
    }
    [[nodiscard]] virtual std::vector<execution::SessionView> list_sessions(
        const std::string& /*principal*/) const {
        return {};
    }
    // Everybody's, for operators.
    [[nodiscard]] virtual std::vector<execution::SessionView> list_all_sessions() const {
        return {};
    }
    [[nodiscard]] virtual Intake intake() const { return Intake::Open; }
    virtual void set_intake(Intake /*intake*/) {}
    // What the principal may use, whether it has limits of its own or those of all.
    [[nodiscard]] virtual execution::PrincipalLimits limits_in_force(
        const std::string& /*principal*/) {
        return {};
    }
    // The files that outlive runs; by default none do.
    [[nodiscard]] virtual Conversations& conversations() { return no_conversations_; }
    // What is remembered of runs, and of requests; by default nothing is.
    [[nodiscard]] virtual Runs& runs() { return no_runs_; }
    [[nodiscard]] virtual State& state() { return no_state_; }
    // As far as it is known now: a language that has not been tried yet counts as usable.
    [[nodiscard]] virtual SandboxInfo info() const = 0;
    // The same after every language has been tried.
    virtual Task<SandboxInfo> survey() { co_return info(); }
    [[nodiscard]] virtual RunFigures figures() const = 0;
    // The rules that are in force now; nullptr: none but those of the program itself.
    [[nodiscard]] virtual std::shared_ptr<const policy::Rulebook> rulebook() const {
        return nullptr;
    }
    [[nodiscard]] virtual PolicyNews policy_news() const { return {}; }
    // From now on runs of the same code are not asked about. Overloaded if too many wait for use.
    [[nodiscard]] virtual Result<void> approve(Approval /*approval*/) {
        return fail(ErrorCode::Unsupported, "programs cannot be approved here");
    }

   private:
    Conversations no_conversations_;
    Runs no_runs_;
    State no_state_;
};

}  // namespace belljar::engine
