#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/result.h"
#include "base/task.h"
#include "base/task_group.h"
#include "engine/cancellation.h"
#include "engine/kept_conversations.h"
#include "engine/launched_jar.h"
#include "engine/output_place.h"
#include "engine/warden_link.h"
#include "execution/plan.h"
#include "execution/result.h"
#include "execution/session.h"
#include "runner/manifest.h"
#include "runner/session_protocol.h"
#include "storage/session_register.h"

namespace belljar::engine {

// Interpreters that stay between two runs of one caller. A session lives in a jar; one that was
// forked from it shares the jar, and their cells take turns. Everything that is said about a
// session of somebody else is what is said about one that does not exist. On the I/O thread.
class Sessions {
   public:
    struct Bounds {
        Duration idle = std::chrono::minutes(15);  // before a session ends
        std::size_t most = 64;
        std::size_t most_each = 8;                     // of one principal
        std::size_t checkpoints = 8;                   // states kept of each, the last one included
        Duration patience = std::chrono::seconds(30);  // of a cell for the one before it
    };

    // Gives a jar whose guest waits for its first order.
    using Launcher = std::function<Task<Result<LaunchedJar>>(
        runner::ManifestPtr, const execution::RunPlan*, CancellationPtr)>;

    struct Options {
        Bounds bounds{};
        execution::Limits limits{};  // of what is not a cell
        execution::Isolation isolation{};
        OutputPlace outputs{};
        storage::SessionRegister* record = nullptr;  // outlives this; nullptr: nothing is kept
    };

    Sessions(const asio::any_io_executor& executor, WardenLink& warden, Launcher launcher,
             Options options, const Log& log);

    // The language in which a request that names a session has to run.
    [[nodiscard]] Result<std::string> language_of(const execution::RunRequest& request) const;

    // The conversation whose files the cell has, if any. InvalidArgument if the session named has
    // another one.
    [[nodiscard]] Result<std::optional<std::string>> conversation_of(
        const execution::RunRequest& request) const;

    // A cell: in the session that the request names, in that of its conversation, or in a new one.
    Task<Result<execution::RunResult>> run(const execution::RunPlan* plan,
                                           runner::ManifestPtr manifest,
                                           CancellationPtr cancellation, LiveStreams live);
    Task<Result<execution::SessionView>> obey(execution::SessionOrder wanted);
    [[nodiscard]] std::vector<execution::SessionView> list(const std::string& principal) const;
    [[nodiscard]] std::vector<execution::SessionView> list_all() const;
    // Whose files a session has.
    [[nodiscard]] std::vector<execution::FileName> conversations() const;
    // Ends all; their jars end with the link to the warden.
    void close();

   private:
    // A jar and who waits for it.
    struct Host {
        Host(const asio::any_io_executor& executor, LaunchedJar launched)
            : jar(std::move(launched)), clock(executor) {}

        LaunchedJar jar;
        asio::steady_timer clock;  // of the running cell
        bool busy = false;
        bool alive = true;
        std::list<asio::steady_timer*> waiting{};                    // for their turn, in order
        execution::KillReason reason = execution::KillReason::None;  // why the cell was stopped
        std::string running{};                                       // whose cell
        runner::SessionKind kind = runner::SessionKind::Copies;
        StayPtr stay{};                            // of the running cell, if its files outlive it
        std::optional<TakenFiles> files_at_end{};  // what the jar sent as it ended
        Bytes memory{};  // never less than it once was, since the state may fill it
        std::size_t sessions = 0;
    };
    using HostPtr = std::shared_ptr<Host>;

    struct Session {
        Session(const asio::any_io_executor& executor, std::string session_id)
            : id(std::move(session_id)), expiry(executor) {}

        std::string id;
        std::string principal{};
        std::string language{};
        std::optional<std::string> conversation{};
        HostPtr host{};
        std::uint64_t cells = 0;
        TimePoint last_used = Clock::now();
        asio::steady_timer expiry;
    };
    using SessionPtr = std::shared_ptr<Session>;

    // The right to talk to a host. Goes to the next who waits when it is destroyed.
    class Turn {
       public:
        explicit Turn(HostPtr host) : host_(std::move(host)) {}
        Turn(Turn&& other) noexcept = default;
        Turn& operator=(Turn&&) = delete;
        ~Turn();

       private:
        HostPtr host_;
    };

    [[nodiscard]] Result<SessionPtr> find(const std::string& principal,
                                          const std::string& id) const;
    [[nodiscard]] SessionPtr find_of_conversation(const execution::RunRequest& request) const;
    Task<Result<SessionPtr>> open(const execution::RunPlan* plan, runner::ManifestPtr manifest,
                                  CancellationPtr cancellation);
    [[nodiscard]] Result<void> check_quota(const std::string& principal) const;
    SessionPtr add(HostPtr host, const std::string& principal, const std::string& language);
    Task<Result<Turn>> take_turn(HostPtr host, CancellationPtr cancellation);
    // From now on nobody has a turn; whoever waits for one is told.
    static void close_to_all(Host& host);
    void watch_idle(const HostPtr& host);
    void rest(const SessionPtr& session);
    // Ends the running cell: from inside the jar or, if that does not help, with the jar.
    void stop(const HostPtr& host, execution::KillReason reason);
    Task<Result<execution::RunResult>> run_cell(SessionPtr session, const execution::RunPlan* plan,
                                                CancellationPtr cancellation, LiveStreams live);
    // Brings the files of the conversation up to date in the jar.
    Task<Result<void>> bring_files(SessionPtr session, StayPtr stay);
    // After a cell: what it did to them.
    Task<void> take_files(HostPtr host, StayPtr stay, execution::RunResult* result);
    Task<bool> talk(SessionPtr session, const execution::RunPlan* plan, runner::CellPlace place,
                    CancellationPtr cancellation, LiveStreams live);
    Task<Result<execution::RawExit>> judge_cell(SessionPtr session, runner::CellPlace place,
                                                execution::Limits limits,
                                                execution::RunResult* result);
    Task<Result<execution::RawExit>> judge_lost(HostPtr host, runner::CellPlace place,
                                                execution::Limits limits,
                                                execution::RunResult* result);
    Task<Result<execution::RawExit>> end_of(HostPtr host);
    Task<Result<json::object>> order(HostPtr host, std::string line);
    void forget(const std::string& id, std::string reason);
    void lose(const HostPtr& host, const std::string& reason);
    void end(const SessionPtr& session, std::string reason);
    Task<void> end_branch(HostPtr host, std::string id);
    [[nodiscard]] execution::SessionView view(const Session& session) const;

    asio::any_io_executor executor_;
    WardenLink& warden_;
    Launcher launcher_;
    Options options_;
    const Log& log_;
    TaskGroup tasks_;
    std::map<std::string, SessionPtr> sessions_;
    // Who asks for one that has ended is told why.
    struct Ended {
        std::string principal;
        std::string reason;
    };
    std::map<std::string, Ended> ended_;
    std::deque<std::string> ended_order_;
    bool closing_ = false;
};

}  // namespace belljar::engine
