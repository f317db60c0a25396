#pragma once

#include <sys/resource.h>

#include <functional>
#include <optional>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "cgroup/jar_cgroup.h"
#include "isolation/warden_messages.h"
#include "jar/nursery.h"
#include "jar/reports.h"
#include "jar/spec.h"
#include "jar/zygote.h"

namespace belljar::isolation {

// What a jar holds on to besides its processes; all of it is freed with the jar.
struct JarResources {
    cgroup::JarCgroup cgroup{};
    uid_t host_user = 0;
    std::uint32_t zygote = 0;  // who forks the guest; 0: nobody
};

// Who starts inits: the nursery or, without namespaces, the warden itself.
struct Parents {
    const jar::Nursery& nursery;
    const Fd& init;  // the program
    // Makes the spec's mounts while the nursery and init are at work; not without namespaces.
    std::function<Result<void>(jar::Spec&)> equip{};
};

// One jar as the warden sees it, from clone3 to the removal of its cgroup. Event-driven: the warden
// calls the on_... functions when the descriptors become readable.
class Jar {
   public:
    // Starts init in new namespaces and tells it the spec. Fails before anything is left behind.
    // With Duration::max() the run waits for start().
    static Result<Jar> launch(JarId id, jar::Spec spec, Duration timeout, JarResources resources,
                              const Parents& parents);

    [[nodiscard]] JarId id() const { return id_; }
    [[nodiscard]] pid_t pid() const { return process_.pid(); }
    [[nodiscard]] const Fd& exit_fd() const { return process_.fd(); }
    [[nodiscard]] const Fd& report_fd() const { return reports_; }
    // When the warden has to act if nothing happens before.
    [[nodiscard]] TimePoint deadline() const { return deadline_; }
    [[nodiscard]] uid_t host_user() const { return resources_.host_user; }
    [[nodiscard]] std::uint32_t zygote() const { return resources_.zygote; }

    [[nodiscard]] const Fd& oom_fd() const { return resources_.cgroup.oom_event(); }
    // After oom_fd() became readable: whether it was this jar's memory.
    [[nodiscard]] bool out_of_memory() const { return resources_.cgroup.out_of_memory(); }

    // A guest of a zygote's making, who waits for init: what to order; it was born; it has ended.
    [[nodiscard]] std::optional<jar::GuestOrder> take_order();
    // Whether its zygote still has to say what became of the guest.
    [[nodiscard]] bool expects_guest() const { return resources_.zygote != 0 && !answered_; }
    Result<void> on_guest_born(pid_t guest);
    void on_no_guest(int sys_errno);
    [[nodiscard]] const PidFd& guest() const { return guest_; }
    [[nodiscard]] const Fd& guest_fd() const { return guest_.fd(); }
    // True if nothing else was left in the jar, and it was not known before: what outcome() says is
    // final then.
    Result<bool> on_guest_exit();

    // Reads one report and says what to tell the server, if anything.
    Result<std::optional<WardenMessage>> on_report();
    // Those that belong to a NetworkMessage of on_report().
    [[nodiscard]] std::vector<Fd> take_network_files() { return std::move(network_files_); }
    // The first reason counts: it is stored before the kill, and nothing the guest does changes it.
    void kill(KillReason reason);
    // Begins the run of a jar that waits, or the next cell of a session; another is left alone.
    void start(const StartMessage& order);
    // A cell has ended: what it used. No clock runs until the next one.
    [[nodiscard]] EndedMessage look();
    // For start(): the guest is there, or has been.
    [[nodiscard]] bool is_ready() const { return waits_ && guest_started_ && !told_to_end_; }
    [[nodiscard]] bool in_session() const { return in_session_; }
    // The clock ran out, in set-up or in the run; or it should have ended by now.
    void on_deadline();
    // Nothing that it does can keep it from ending.
    [[nodiscard]] bool is_dying() const { return dying_; }
    // Init has ended: what it said before is all that is left to be read.
    void hear_the_rest();
    // Reaps init, after which no process of the jar is left, and reads the counters.
    Result<void> on_exit();
    // After on_exit(): what to tell the server.
    [[nodiscard]] const std::optional<FailedMessage>& failure() const { return failure_; }
    [[nodiscard]] const EndedMessage& outcome() const { return outcome_; }
    // Whether outcome() was final before on_exit().
    [[nodiscard]] bool settled_early() const { return settled_early_; }
    // Fails with EBUSY as long as the kernel has not let go of the last process.
    Result<void> remove_cgroup() { return resources_.cgroup.remove(); }

   private:
    Jar() = default;
    void take_places(Packet packet);
    void finish();
    void settle(const rusage& waited);
    void measure(EndedMessage& outcome) const;
    void look_at_guest();
    [[nodiscard]] bool settle_before_exit();
    void fail_with(Step step, int sys_errno);

    JarId id_ = 0;
    jar::Mode mode_ = jar::Mode::Root;
    Duration timeout_{};
    PidFd process_;
    PidFd guest_;                           // only of a zygote's making
    std::optional<jar::GuestOrder> order_;  // until the zygote has it
    rusage guest_usage_{};
    Fd reports_;
    std::vector<Fd> network_files_;
    Fd workspace_;
    Fd tmp_;
    std::uint64_t used_when_empty_ = 0;
    JarResources resources_;
    TimePoint started_{};
    TimePoint finished_{};
    TimePoint deadline_{};
    cgroup::CgroupUsage before_{};  // while it waited, and by earlier cells
    bool waits_ = false;
    bool in_session_ = false;
    bool keeps_files_ = false;
    bool guest_started_ = false;
    bool told_to_end_ = false;
    bool dying_ = false;
    bool end_is_shown_ = false;  // by the kernel, before the guest can be waited for
    bool settled_early_ = false;
    bool answered_ = false;
    std::optional<FailedMessage> failure_;
    EndedMessage outcome_{};
};

}  // namespace belljar::isolation
