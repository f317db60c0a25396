#include "isolation/jar.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "isolation/contain.h"
#include "isolation/identity.h"

namespace belljar::isolation {
namespace {

constexpr auto kSetUpTime = std::chrono::seconds(10);
constexpr auto kLongestTime = std::chrono::hours(24 * 365);

// The user namespace is not among these: it is entered last, from inside.
constexpr std::uint64_t kNamespaces =
    CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;

std::uint64_t used_bytes(const Fd& directory) {
    struct statfs status{};
    if (!directory.valid() || ::fstatfs(directory.get(), &status) != 0) {
        return 0;
    }
    return (status.f_blocks - status.f_bfree) * static_cast<std::uint64_t>(status.f_bsize);
}

}  // namespace

Result<Jar> Jar::launch(const JarSpec& spec, JarCgroup cgroup) {
    Jar jar;
    jar.id_ = spec.id;
    jar.host_user_ = spec.host_user;
    jar.timeout_ = std::min<Duration>(spec.limits.timeout, kLongestTime);
    jar.cgroup_ = std::move(cgroup);
    BJ_TRY(SocketPair sockets, make_seqpacket_pair());

    int pidfd = -1;
    clone_args arguments{};
    arguments.flags = kNamespaces | CLONE_PIDFD | CLONE_CLEAR_SIGHAND;
    arguments.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
    arguments.exit_signal = SIGCHLD;
    if (const int target = jar.cgroup_.clone_target(); target >= 0) {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = static_cast<std::uint64_t>(target);
    }
    const long child = ::syscall(SYS_clone3, &arguments, sizeof(arguments));
    if (child < 0) {
        return fail(system_error("clone3"));
    }
    if (child == 0) {
        sockets.first.reset();
        contain(spec, jar.cgroup_, sockets.second);
    }
    jar.process_ = PidFd(static_cast<pid_t>(child), Fd(pidfd));
    jar.reports_ = std::move(sockets.first);
    jar.started_ = Clock::now();
    jar.deadline_ = jar.started_ + kSetUpTime;
    jar.outcome_.jar = spec.id;
    return jar;
}

Result<bool> Jar::on_report() {
    BJ_TRY(Packet packet, receive_packet(reports_));
    if (packet.data.empty()) {
        reports_.reset();  // on_exit() follows
        return false;
    }
    BJ_TRY(const JarReport report, decode_report(packet.data));
    switch (report.event) {
        case JarEvent::AwaitsIdentity: {
            if (packet.fds.size() == 1) {
                workspace_ = std::move(packet.fds.front());
            }
            if (Result<void> mapped = map_identity(process_.pid(), host_user_); !mapped) {
                fail_with(Step::MapIdentity, mapped.error().sys_errno);
                kill(KillReason::None);
                return false;
            }
            const std::byte proceed{1};
            Result<void> sent = send_packet(reports_, std::span(&proceed, 1), {});
            if (!sent && sent.error().sys_errno != EPIPE) {
                return fail(std::move(sent).error());
            }
            return false;  // killed in the meantime: on_exit() follows
        }
        case JarEvent::GuestStarts:
            guest_started_ = true;
            started_ = Clock::now();
            deadline_ = started_ + timeout_;
            return true;
        case JarEvent::StepFailed:
            fail_with(report.step, report.value);
            return false;
        case JarEvent::GuestExited:
            outcome_.exited = 1;
            outcome_.wait_status = report.value;
            return false;
    }
    return false;
}

void Jar::kill(KillReason reason) {
    if (outcome_.kill_reason == KillReason::None && outcome_.exited == 0) {
        outcome_.kill_reason = reason;
    }
    deadline_ = TimePoint::max();
    // ESRCH: it has ended by itself in the meantime.
    [[maybe_unused]] const Result<void> sent = process_.signal(SIGKILL);
}

void Jar::on_deadline() {
    if (!guest_started_) {
        fail_with(Step::SetUpDeadline, ETIMEDOUT);
    }
    kill(KillReason::Deadline);
}

Result<void> Jar::on_exit() {
    // A report that was sent just before the end is still in the socket.
    while (reports_.valid()) {
        if (!on_report()) {
            break;
        }
    }
    BJ_TRY([[maybe_unused]] const int status, process_.wait());
    outcome_.wall_nanoseconds = static_cast<std::uint64_t>((Clock::now() - started_).count());
    const CgroupUsage usage = cgroup_.usage();
    outcome_.cpu_nanoseconds = static_cast<std::uint64_t>(usage.cpu.count());
    outcome_.memory_peak_bytes = usage.memory_peak_bytes;
    outcome_.out_of_memory_kills = usage.out_of_memory_kills;
    outcome_.processes_peak = usage.processes_peak;
    outcome_.process_limit_hits = usage.process_limit_hits;
    outcome_.disk_used_bytes = used_bytes(workspace_);
    workspace_.reset();
    return {};
}

void Jar::fail_with(Step step, int sys_errno) {
    if (!failure_) {
        failure_ = FailedMessage{.jar = id_, .step = step, .sys_errno = sys_errno};
    }
}

}  // namespace belljar::isolation
