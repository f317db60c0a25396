#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "base/task.h"
#include "engine/admission.h"
#include "engine/approvals.h"
#include "engine/approved_tools.h"
#include "engine/daily_quota.h"
#include "engine/executor.h"
#include "engine/guest_io.h"
#include "engine/jar_pool.h"
#include "engine/kept_conversations.h"
#include "engine/kept_runs.h"
#include "engine/kept_state.h"
#include "engine/languages.h"
#include "engine/launched_jar.h"
#include "engine/output_place.h"
#include "engine/overseer.h"
#include "engine/principals.h"
#include "engine/run_counters.h"
#include "engine/run_feed.h"
#include "engine/runner_directory.h"
#include "engine/sessions.h"
#include "engine/warden_link.h"
#include "engine/zygotes.h"
#include "policy/decision.h"
#include "policy/reading.h"
#include "policy/rulebook.h"
#include "runner/runners.h"
#include "storage/output_store.h"
#include "storage/state_database.h"

namespace belljar::engine {

// Tells the story of a run: policy, admission, jar, guest, outcome. One per server, on the I/O
// thread; borrows the link to the warden.
class Engine final : public Executor {
   public:
    struct Options {
        std::string version{};
        policy::Policy policy{};
        std::shared_ptr<const policy::Rulebook> rules{};  // nothing: the profiles that all have
        Admission::Bounds admission{};
        Duration queue_time = std::chrono::seconds(30);  // from the request to its start at most
        JarPool::Bounds pool{};
        std::optional<Zygotes::Lifetime> zygotes{};  // nothing: there are none
        execution::Isolation isolation{};
        OutputPlace outputs{};
        std::optional<Sessions::Bounds> sessions{};            // nothing: there are none
        storage::SessionRegister* session_register = nullptr;  // outlives the engine
        storage::ConversationStore* conversations = nullptr;   // the same; nothing: there are none
        const storage::UrlSigner* url_signer = nullptr;  // the same; nothing: files have no address
        storage::StateDatabase* state = nullptr;         // the same
        execution::CleanupOrder cleanup{};               // of conversations, by itself
        std::size_t batch_parallel = 4;
        Admission::Share share{};                // of each, where there are several callers
        execution::PrincipalLimits allowance{};  // of each that has none of its own
        std::vector<Overseer*> overseers{};      // each outlives the engine
        config::AuditCode recorded_code = config::AuditCode::Digest;
        execution::PrivacyRules privacy{};        // of every run, besides those of its plan
        std::optional<approved::Source> tools{};  // nothing: there are none
        std::string root{};          // where jars have their programs from; empty: the host's
        std::string runners_path{};  // directory of further manifests; empty: none
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
    Task<Result<RunPreview>> preview(execution::RunRequest request) override;
    [[nodiscard]] Conversations& conversations() override;
    [[nodiscard]] Runs& runs() override;
    [[nodiscard]] State& state() override;
    // What an earlier server counted today; before the first run.
    void remember_usage(const std::vector<execution::DailyUsage>& today);
    [[nodiscard]] SandboxInfo info() const override;
    Task<SandboxInfo> survey() override;

    [[nodiscard]] RunFigures figures() const override;
    // From now on it is told of runs, too.
    void add_overseer(Overseer& overseer) { options_.overseers.push_back(&overseer); }
    void notice(const execution::SecurityEvent& event) const;
    // Ends the runs of a principal, and its sessions. The answer is that they were cancelled.
    Task<void> end_all_of(std::string principal);
    Task<void> end_run(std::string execution_id);
    void guard_conversations(KeptConversations::Guard guard);
    // From now on these rules are in force. Runs that have begun keep those they began under.
    void use(std::shared_ptr<const policy::Rulebook> rules);
    // What is written now cannot be in force, for this reason; the rules stay as they are.
    void refuse_rules(std::string problem);
    [[nodiscard]] std::shared_ptr<const policy::Rulebook> rulebook() const override {
        return rules_;
    }
    [[nodiscard]] PolicyNews policy_news() const override { return news_; }
    [[nodiscard]] Result<void> approve(Approval approval) override;
    // Approved tools as they are now; try_tools() says which modules can be imported at all.
    [[nodiscard]] ApprovedTools& tools() { return tools_; }
    Task<Result<approved::Collection>> try_tools(approved::Collection collection);
    // What is told of runs while they go on.
    [[nodiscard]] RunFeed& feed() { return feed_; }

    Task<Result<execution::SessionView>> obey(execution::SessionOrder order) override;
    [[nodiscard]] std::vector<execution::SessionView> list_sessions(
        const std::string& principal) const override;
    [[nodiscard]] std::vector<execution::SessionView> list_all_sessions() const override;

    [[nodiscard]] Intake intake() const override { return intake_; }
    void set_intake(Intake intake) override;
    [[nodiscard]] execution::PrincipalLimits limits_in_force(const std::string& principal) override;
    // Outlives the engine. Without, there is one caller that may do everything.
    void ask(Principals& principals);

    // Lets each language that must be there look at a jar from inside. The error says in a sentence
    // why no jar can be trusted here; without one, jars may be made ahead from now on, and the
    // other languages are tried in the background.
    Task<Result<void>> self_test();
    // From now on execute() waits until the self-test has passed, and refuses if it has not.
    void require_self_test();
    // Makes no more jars ahead. Runs end by themselves or with the link to the warden.
    void close();
    [[nodiscard]] bool ready() const {
        return trial_ == Trial::Passed && warden_.alive() && intake_ == Intake::Open;
    }

   private:
    enum class Trial { NotRequired, Awaited, Passed, Failed };

    Task<Result<void>> await_trial();
    // Reads the operator's manifests, once; a service reads them again when they change.
    void load_languages();
    // Makes jars and warm interpreters ahead for what is usable, and for nothing else.
    void prepare_usable();
    void start_zygotes();
    void serve_languages();
    Task<void> try_languages();
    Task<Result<void>> test_jars();
    Task<Result<void>> test_jar(runner::ManifestPtr manifest, std::uint32_t zygote);
    // Its version.
    Task<Result<std::string>> try_language(LanguagePtr language);
    Task<Result<execution::RunResult>> run_trial(runner::ManifestPtr manifest,
                                                 std::uint32_t zygote);
    // Those of them that cannot be imported out of this pack.
    Task<Result<std::vector<approved::Refusal>>> try_modules(approved::PackPtr pack,
                                                             std::vector<std::string> files);
    Task<Result<std::vector<approved::Refusal>>> try_at_once(approved::PackPtr pack,
                                                             std::vector<std::string> files);
    void serve_tools();
    // What everybody can import; none where jars have no tree of their own to show it in.
    [[nodiscard]] approved::PackPtr common_tools() const;
    // What a run can import.
    [[nodiscard]] Result<approved::PackPtr> tools_for(const execution::RunPlan& plan);
    [[nodiscard]] execution::RunPlan plan_trial(const runner::Manifest& manifest) const;
    [[nodiscard]] execution::RunAccount account_of(const execution::RunRequest& request) const;
    // Tells every overseer of a call that a guest's jar has just refused.
    void watch_denials(isolation::JarId jar, const execution::RunPlan& plan);
    // The overseers' word on a request and on its end: the answer, or the error in its place.
    [[nodiscard]] Result<void> admit(const execution::RunRequest& request) const;
    [[nodiscard]] Result<execution::RunResult> oversee(const execution::RunAccount& account,
                                                       Result<execution::RunResult> result) const;
    // What the request comes to before it waits for a place.
    struct Decision {
        runner::ManifestPtr manifest{};
        execution::RunPlan plan{};
        bool asks = false;                        // a person has to agree first
        std::shared_ptr<FirstReading> reading{};  // in the run's own jar; nothing: none is left
    };
    enum class Intent { Look, Run };  // Look: somebody only wants to know
    using Rules = std::shared_ptr<const policy::Rulebook>;
    [[nodiscard]] static Rules own_rules(const policy::Policy& policy);
    Task<Result<Decision>> decide(execution::RunRequest request, Intent intent);
    // What the profile, which is one of the rules, makes of a request.
    Task<Result<Decision>> decide_under(Rules rules, const policy::Profile* profile,
                                        LanguagePtr language, execution::RunRequest request);
    Task<Result<LanguagePtr>> language_for(execution::RunRequest* request);
    [[nodiscard]] Result<const policy::Profile*> profile_for(const Rules& rules,
                                                             const execution::RunRequest& request);
    // Has the program read, and judges what is found in it.
    Task<Result<void>> scan(const policy::Profile* profile, Decision* decision, Intent intent);
    Task<Result<policy::Reading>> read_code(const execution::RunRequest* request,
                                            std::string language);
    void notice_refusal(const execution::RunRequest& request, const Error& error) const;
    void notice_findings(const execution::RunPlan& plan,
                         const std::vector<execution::Finding>& findings) const;
    void add_profiles(SandboxInfo& info) const;
    Task<Result<execution::RunResult>> run(execution::RunRequest request,
                                           CancellationPtr cancellation, LiveStreams live);
    Task<Result<execution::RunResult>> run_in_jar(execution::RunPlan plan,
                                                  runner::ManifestPtr manifest,
                                                  CancellationPtr cancellation, LiveStreams live);
    // The same with the files of a conversation in its workspace.
    Task<Result<execution::RunResult>> run_with_files(execution::RunPlan plan,
                                                      runner::ManifestPtr manifest,
                                                      CancellationPtr cancellation,
                                                      LiveStreams live);
    Task<Result<execution::RunResult>> run_once(const execution::RunPlan* plan,
                                                const runner::Manifest* manifest, LaunchedJar jar,
                                                CancellationPtr cancellation, LiveStreams live);
    // A jar whose guest waits for what it is told, with no clock yet.
    Task<Result<LaunchedJar>> launch_waiting(runner::ManifestPtr manifest,
                                             const execution::RunPlan* plan,
                                             CancellationPtr cancellation);
    struct End {
        execution::RawExit exit{};
        std::optional<TakenFiles> files{};
    };
    // With a stay, the files that the jar sends as well.
    Task<Result<End>> await_end(LaunchedJar* jar, StayPtr stay, std::optional<ProgramFile> program,
                                TimePoint give_up);

    asio::any_io_executor executor_;
    WardenLink& warden_;
    Options options_;
    Admission admission_;
    JarPool pool_;
    const Log& log_;
    ApprovedTools tools_;
    std::optional<Zygotes> zygotes_;
    std::optional<KeptConversations> conversations_;
    std::optional<Sessions> sessions_;
    std::optional<KeptState> state_;
    std::optional<KeptRuns> runs_;
    RunnerDirectory directory_;
    Languages languages_;
    bool loaded_ = false;
    TaskGroup tasks_;
    asio::steady_timer languages_later_;
    RunCounters counters_;
    DailyQuota quota_;
    Principals* principals_ = nullptr;
    Rules rules_;
    PolicyNews news_;
    Approvals approvals_;
    Intake intake_ = Intake::Open;
    RunFeed feed_{RunFeed::Bounds{}};
    Trial trial_ = Trial::NotRequired;
    asio::steady_timer trial_over_;
};

}  // namespace belljar::engine
