#pragma once

#include <csignal>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/fd.h"
#include "base/log.h"
#include "base/result.h"
#include "isolation/cgroup.h"
#include "isolation/jar.h"
#include "isolation/scratch.h"
#include "isolation/warden_messages.h"
#include "isolation/workspace_image.h"

namespace belljar::isolation {

// What the kernel sends the warden when the keeper has died. Not SIGTERM: a service manager sends
// that to every process at once, and the warden has to outlive the server.
inline constexpr int kKeeperGone = SIGUSR1;

// How this process came to be, decided by the keeper.
struct Host {
    jar::Mode mode = jar::Mode::Root;
    // The user ids that jars may have; none: every jar has ours, which is 0 in a user namespace.
    uid_t first_user = 0;
    uid_t user_count = 0;
    std::string init{};  // path of belljar-init
};

// The privileged process: makes jars on request, watches their clocks, reports their ends. One
// thread, one epoll loop, no parsing beyond fixed structures. When the server is gone it kills
// every jar, removes their cgroups, and ends.
class Warden {
   public:
    // Reads the server's ConfigureMessage, makes the cgroup subtree and answers with ReadyMessage.
    static Result<std::unique_ptr<Warden>> create(Fd server, const Host& host, const Log& log);

    // Until the server closes its end.
    Result<void> run();

   private:
    Warden(Fd server, const Host& host, const Log& log)
        : server_(std::move(server)), host_(host), log_(log) {}

    Result<void> prepare(const ConfigureMessage& configuration);
    Result<void> prepare_root(const ConfigureMessage& configuration);
    void prepare_workspaces(const ConfigureMessage& configuration);
    [[nodiscard]] std::uint32_t layers() const;
    Result<void> watch(const Fd& fd, std::uint64_t tag) const;
    [[nodiscard]] int wait_milliseconds() const;
    Result<void> on_server_readable();
    void launch(const LaunchMessage& message, std::vector<Fd> fds);
    Result<void> try_launch(const LaunchMessage& message, std::vector<Fd> fds, Step& step);
    jar::SpecMessage plan_for(const LaunchMessage& message);
    Result<void> make_workspace(JarId id, jar::Spec& spec, JarResources& resources);
    void on_jar_report(JarId id);
    void on_jar_exit(JarId id);
    void enforce_deadlines();
    void remove_ended_cgroups();
    void kill_everything();
    void clean_up_after(const Jar& ended_jar);
    void on_out_of_memory(JarId id);
    uid_t next_free_user();
    template <typename Message>
    void tell_server(const Message& message);

    Fd server_;
    Host host_;
    const Log& log_;
    Fd epoll_;
    Fd signals_;
    Fd init_;  // the program that closes a jar from inside
    CgroupTree cgroups_;
    WorkspaceImages images_;
    Scratch scratch_;
    jar::HostPath root_{};
    jar::HostPath tools_{};
    std::uint32_t landlock_abi_ = 0;
    bool can_deny_write_execute_ = false;
    bool small_workspaces_ = false;
    std::map<JarId, Jar> jars_;
    std::vector<Jar> ended_;  // reaped, cgroup still to be removed
    std::set<uid_t> users_in_use_;
    uid_t next_user_ = 0;
    bool server_gone_ = false;
    TimePoint give_up_ = TimePoint::max();
};

}  // namespace belljar::isolation
