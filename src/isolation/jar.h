#pragma once

#include <optional>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "isolation/cgroup.h"
#include "isolation/jar_reports.h"
#include "isolation/jar_spec.h"
#include "isolation/warden_messages.h"

namespace belljar::isolation {

// One jar as the warden sees it, from clone3 to the removal of its cgroup. Event-driven: the warden
// calls on_report() and on_exit() when the descriptors become readable.
class Jar {
   public:
    // Clones the child that contains itself. Fails before anything is left behind.
    static Result<Jar> launch(const JarSpec& spec, JarCgroup cgroup);

    [[nodiscard]] JarId id() const { return id_; }
    [[nodiscard]] const Fd& exit_fd() const { return process_.fd(); }
    [[nodiscard]] const Fd& report_fd() const { return reports_; }
    // When the warden has to act if nothing happens before.
    [[nodiscard]] TimePoint deadline() const { return deadline_; }
    [[nodiscard]] uid_t host_user() const { return host_user_; }

    // Reads one report. True if the guest has just started.
    Result<bool> on_report();
    // The first reason counts: it is stored before the kill, and nothing the guest does changes it.
    void kill(KillReason reason);
    // The clock ran out, in set-up or in the run.
    void on_deadline();
    // Reaps init, after which no process of the jar is left, and reads the counters.
    Result<void> on_exit();
    // After on_exit(): what to tell the server.
    [[nodiscard]] const std::optional<FailedMessage>& failure() const { return failure_; }
    [[nodiscard]] const EndedMessage& outcome() const { return outcome_; }
    // Fails with EBUSY as long as the kernel has not let go of the last process.
    Result<void> remove_cgroup() { return cgroup_.remove(); }

   private:
    Jar() = default;
    void fail_with(Step step, int sys_errno);

    JarId id_ = 0;
    uid_t host_user_ = 0;
    Duration timeout_{};
    PidFd process_;
    Fd reports_;
    Fd workspace_;
    JarCgroup cgroup_;
    TimePoint started_{};
    TimePoint deadline_{};
    bool guest_started_ = false;
    std::optional<FailedMessage> failure_;
    EndedMessage outcome_{};
};

}  // namespace belljar::isolation
