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
#include "isolation/warden_messages.h"

namespace belljar::isolation {

// What the kernel sends the warden when the keeper has died. Not SIGTERM: a service manager sends
// that to every process at once, and the warden has to outlive the server.
inline constexpr int kKeeperGone = SIGUSR1;

// The privileged process: makes jars on request, watches their clocks, reports their ends. One
// thread, one epoll loop, no parsing beyond fixed structures. When the server is gone it kills
// every jar, removes their cgroups, and ends.
class Warden {
   public:
    // Reads the server's ConfigureMessage, makes the cgroup subtree and answers with ReadyMessage.
    static Result<std::unique_ptr<Warden>> create(Fd server, const Log& log);

    // Until the server closes its end.
    Result<void> run();

   private:
    Warden(Fd server, Fd epoll, CgroupTree cgroups, const Log& log)
        : server_(std::move(server)),
          epoll_(std::move(epoll)),
          cgroups_(std::move(cgroups)),
          log_(log) {}

    Result<void> watch(const Fd& fd, std::uint64_t tag) const;
    [[nodiscard]] int wait_milliseconds() const;
    Result<void> on_server_readable();
    void launch(const LaunchMessage& message, std::vector<Fd> fds);
    Result<void> try_launch(const LaunchMessage& message, std::vector<Fd> fds, Step& step);
    void on_jar_report(JarId id);
    void on_jar_exit(JarId id);
    void enforce_deadlines();
    void remove_ended_cgroups();
    void kill_everything();
    uid_t next_free_user();
    template <typename Message>
    void tell_server(const Message& message);

    Fd server_;
    Fd epoll_;
    Fd signals_;
    CgroupTree cgroups_;
    const Log& log_;
    std::map<JarId, Jar> jars_;
    std::vector<Jar> ended_;  // reaped, cgroup still to be removed
    std::set<uid_t> users_in_use_;
    uid_t first_user_ = 0;
    uid_t user_count_ = 0;
    uid_t next_user_ = 0;
    bool server_gone_ = false;
    TimePoint give_up_ = TimePoint::max();
};

}  // namespace belljar::isolation
