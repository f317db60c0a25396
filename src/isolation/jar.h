#pragma once

#include <optional>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "isolation/cgroup.h"
#include "isolation/warden_messages.h"
#include "isolation/workspace_image.h"
#include "jar/reports.h"
#include "jar/spec.h"

namespace belljar::isolation {

// What a jar holds on to besides its processes; all of it is freed with the jar.
struct JarResources {
    JarCgroup cgroup{};
    WorkspaceImage image{};
};

// One jar as the warden sees it, from clone3 to the removal of its cgroup. Event-driven: the warden
// calls the on_... functions when the descriptors become readable.
class Jar {
   public:
    // Starts the program `init` in new namespaces and tells it the spec. Fails before anything is
    // left behind. With Duration::max() the run waits for start().
    static Result<Jar> launch(JarId id, const jar::Spec& spec, Duration timeout,
                              JarResources resources, const Fd& init);

    [[nodiscard]] JarId id() const { return id_; }
    [[nodiscard]] pid_t pid() const { return process_.pid(); }
    [[nodiscard]] const Fd& exit_fd() const { return process_.fd(); }
    [[nodiscard]] const Fd& report_fd() const { return reports_; }
    // When the warden has to act if nothing happens before.
    [[nodiscard]] TimePoint deadline() const { return deadline_; }
    [[nodiscard]] uid_t host_user() const { return host_user_; }

    [[nodiscard]] const Fd& oom_fd() const { return resources_.cgroup.oom_event(); }
    // After oom_fd() became readable: whether it was this jar's memory.
    [[nodiscard]] bool out_of_memory() const { return resources_.cgroup.out_of_memory(); }

    // Reads one report and says what to tell the server, if anything.
    Result<std::optional<WardenMessage>> on_report();
    // The first reason counts: it is stored before the kill, and nothing the guest does changes it.
    void kill(KillReason reason);
    // Begins the run of a jar that waits; another is left alone.
    void start(const StartMessage& order);
    // The clock ran out, in set-up or in the run.
    void on_deadline();
    // Reaps init, after which no process of the jar is left, and reads the counters.
    Result<void> on_exit();
    // After on_exit(): what to tell the server.
    [[nodiscard]] const std::optional<FailedMessage>& failure() const { return failure_; }
    [[nodiscard]] const EndedMessage& outcome() const { return outcome_; }
    // Fails with EBUSY as long as the kernel has not let go of the last process.
    Result<void> remove_cgroup() { return resources_.cgroup.remove(); }

   private:
    Jar() = default;
    Result<void> give_identity(Packet packet);
    Result<void> let_init_go_on();
    void finish();
    void fail_with(Step step, int sys_errno);

    JarId id_ = 0;
    uid_t host_user_ = 0;
    jar::Mode mode_ = jar::Mode::Root;
    Duration timeout_{};
    PidFd process_;
    Fd reports_;
    Fd workspace_;
    Fd tmp_;
    std::uint64_t used_when_empty_ = 0;
    JarResources resources_;
    TimePoint started_{};
    TimePoint finished_{};
    TimePoint deadline_{};
    Duration cpu_before_{};  // used while it waited
    bool waits_ = false;
    bool guest_started_ = false;
    bool told_to_end_ = false;
    std::optional<FailedMessage> failure_;
    EndedMessage outcome_{};
};

}  // namespace belljar::isolation
