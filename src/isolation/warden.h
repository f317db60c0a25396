#pragma once

#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/fd.h"
#include "base/log.h"
#include "base/result.h"
#include "cgroup/jar_cgroup.h"
#include "isolation/host_message.h"
#include "isolation/jar.h"
#include "isolation/scratch.h"
#include "isolation/warden_messages.h"
#include "isolation/zygote.h"
#include "jar/workspace_image.h"

namespace belljar::isolation {

// What the kernel sends the warden when the keeper has died. Not SIGTERM: a service manager sends
// that to every process at once, and the warden has to outlive the server.
inline constexpr int kKeeperGone = SIGUSR1;

// The descriptors that the warden's program is started with.
inline constexpr int kServerSocket = 3;
inline constexpr int kKeeperSocket = 4;

// The privileged process: makes jars on request, watches their clocks, reports their ends. One
// thread, one epoll loop, no parsing beyond fixed structures. When the server is gone it kills
// every jar, removes their cgroups, and ends.
class Warden {
   public:
    // Reads the keeper's HostMessage and answers the server with ReadyMessage.
    static Result<std::unique_ptr<Warden>> create(Fd server, const Fd& keeper, const Log& log);

    Warden(const Warden&) = delete;
    Warden& operator=(const Warden&) = delete;
    ~Warden();

    // Until the server closes its end.
    Result<void> run();

   private:
    Warden(Fd server, const Log& log) : server_(std::move(server)), log_(log) {}

    Result<void> take_over(Packet packet);
    Result<void> start_nursery();
    [[nodiscard]] std::uint32_t layers() const;
    Result<void> watch(const Fd& fd, std::uint64_t tag) const;
    [[nodiscard]] int wait_milliseconds() const;
    Result<void> on_server_readable();
    void launch(const LaunchMessage& message, std::vector<Fd> fds);
    Result<void> try_launch(const LaunchMessage& message, std::vector<Fd> fds, Step& step);
    jar::SpecMessage plan_for(const LaunchMessage& message, uid_t user);
    Result<void> make_files(uid_t owner, jar::Spec& spec) const;
    void start_zygote(const ZygoteMessage& message, std::vector<Fd> fds);
    Result<void> try_start_zygote(const ZygoteMessage& message, std::vector<Fd> fds);
    void on_zygote_answer(std::uint32_t id);
    void on_zygote_exit(std::uint32_t id);
    void let_retired_go();
    std::vector<pid_t> known_children();
    void end_unknown_guests();
    void order_guest(Jar& jar, const jar::GuestOrder& order);
    Result<void> hear_of_start(JarId id);
    void on_guest_exit(JarId id);
    void on_jar_report(JarId id);
    // Reads one and tells the server what it needs to know. False if it could not be read.
    [[nodiscard]] bool pass_on_report(Jar& jar);
    void on_jar_exit(JarId id);
    void enforce_deadlines();
    void remove_ended();
    void kill_everything();
    void clean_up_after(const Jar& ended_jar);
    [[nodiscard]] bool are_files_gone(JarId id, std::size_t& most);
    void on_out_of_memory(JarId id);
    uid_t next_free_user();
    template <typename Message>
    void tell_server(const Message& message, std::span<const int> fds = {});

    Fd server_;
    HostMessage host_{};
    const Log& log_;
    Fd epoll_;
    Fd signals_;
    Fd init_;                                    // the program that closes a jar from inside
    std::optional<jar::ImagePattern> template_;  // of workspaces; none: they are kept in memory
    cgroup::JarCgroups cgroups_;
    jar::Nursery nursery_;
    Scratch scratch_;
    std::map<JarId, Jar> jars_;
    std::map<std::uint32_t, Zygote> zygotes_;
    std::vector<Jar> ended_;  // reaped, cgroup and files still to be removed
    std::set<uid_t> users_in_use_;
    uid_t next_user_ = 0;
    bool server_gone_ = false;
    TimePoint give_up_ = TimePoint::max();
};

}  // namespace belljar::isolation
