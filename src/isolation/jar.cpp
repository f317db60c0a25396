#include "isolation/jar.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "jar/identity.h"

namespace belljar::isolation {
namespace {

constexpr auto kSetUpTime = std::chrono::seconds(10);
constexpr auto kLongestTime = std::chrono::hours(24 * 365);

// The user namespace is not among these: it is entered last, from inside.
constexpr std::uint64_t kNamespaces =
    CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;

// What init needs to be told after the clone, besides the spec: nothing but the socket.
constexpr int kInitSocket = 3;
constexpr auto kTimeToEnd = std::chrono::seconds(6);

[[noreturn]] void become_init(const Fd& init, const Fd& socket) {
    const int placed = socket.get() == kInitSocket ? ::fcntl(kInitSocket, F_SETFD, 0)
                                                   : ::dup2(socket.get(), kInitSocket);
    char name[] = "belljar-init";
    char* const arguments[] = {name, nullptr};
    char* const environment[] = {nullptr};
    if (placed >= 0) {
        ::syscall(SYS_execveat, init.get(), "", arguments, environment, AT_EMPTY_PATH);
    }
    ::_exit(125);
}

Result<PidFd> clone_init(const Fd& init, const Fd& socket, const JarCgroup& cgroup) {
    int pidfd = -1;
    clone_args arguments{};
    arguments.flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND | kNamespaces;
    arguments.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
    arguments.exit_signal = SIGCHLD;
    if (const int target = cgroup.clone_target(); target >= 0) {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = static_cast<std::uint64_t>(target);
    }
    const long child = ::syscall(SYS_clone3, &arguments, sizeof(arguments));
    if (child < 0) {
        return fail(system_error("clone3"));
    }
    if (child == 0) {
        become_init(init, socket);
    }
    return PidFd(static_cast<pid_t>(child), Fd(pidfd));
}

// Containers refuse clone3, whose flags their filters cannot see.
Result<PidFd> fork_init(const Fd& init, const Fd& socket) {
    const pid_t child = ::fork();
    if (child < 0) {
        return fail(system_error("fork"));
    }
    if (child == 0) {
        become_init(init, socket);
    }
    return PidFd::open(child);
}

struct Fill {
    std::uint64_t used = 0;
    bool full = false;
};

std::uint64_t cpu_nanoseconds(const rusage& usage) {
    const auto nanoseconds = [](const timeval& time) {
        return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
               static_cast<std::uint64_t>(time.tv_usec) * 1000U;
    };
    return nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
}

// Of the file system that the directory is on, which is the jar's own.
Fill fill_of(const Fd& directory) {
    struct statfs status{};
    if (!directory.valid() || ::fstatfs(directory.get(), &status) != 0) {
        return {};
    }
    // The kernel counts per processor: a little is left where a write has found nothing.
    const auto none_left = [](std::uint64_t left, std::uint64_t all) {
        return all > 0 && left <= std::min<std::uint64_t>(64, all / 64);
    };
    return {.used = (status.f_blocks - status.f_bfree) * static_cast<std::uint64_t>(status.f_bsize),
            .full = none_left(status.f_bavail, status.f_blocks) ||
                    none_left(status.f_ffree, status.f_files)};
}

}  // namespace

Result<Jar> Jar::launch(JarId id, const jar::Spec& spec, Duration timeout, JarResources resources,
                        const Fd& init) {
    Jar made;
    made.id_ = id;
    made.mode_ = spec.message.mode;
    made.host_user_ = spec.message.host_user;
    made.timeout_ = std::min<Duration>(timeout, kLongestTime);
    made.waits_ = timeout == Duration::max();
    made.resources_ = std::move(resources);
    BJ_TRY(jar::SocketPair sockets, jar::make_seqpacket_pair());

    BJ_TRY(made.process_, made.mode_ == jar::Mode::Nested
                              ? fork_init(init, sockets.second)
                              : clone_init(init, sockets.second, made.resources_.cgroup));
    made.reports_ = std::move(sockets.first);
    made.started_ = Clock::now();
    made.deadline_ = made.started_ + kSetUpTime;
    made.outcome_.jar = id;
    if (const Result<void> told = jar::send_spec(made.reports_, spec); !told) {
        made.fail_with(Step::ReceiveSpec, told.error().sys_errno);
        made.kill(KillReason::None);  // its end tells the rest
    }
    return made;
}

Result<std::optional<WardenMessage>> Jar::on_report() {
    std::optional<WardenMessage> news;
    BJ_TRY(Packet packet, jar::receive_packet(reports_));
    if (packet.data.empty()) {
        reports_.reset();  // on_exit() follows
        return news;
    }
    BJ_TRY(const jar::JarReport report, jar::decode_report(packet.data));
    switch (report.event) {
        case jar::JarEvent::AwaitsIdentity:
            BJ_TRY_VOID(give_identity(std::move(packet)));
            break;
        case jar::JarEvent::GuestStarts:
            guest_started_ = true;
            started_ = Clock::now();
            deadline_ = started_ + timeout_;
            news = StartedMessage{.jar = id_};
            break;
        case jar::JarEvent::StepFailed:
            if (!told_to_end_) {  // what fails because init is gone is no failure
                fail_with(report.step, report.value);
            }
            break;
        case jar::JarEvent::GuestExited:
            outcome_.exited = 1;
            outcome_.wait_status = report.value;
            finish();
            BJ_TRY_VOID(let_init_go_on());
            break;
        case jar::JarEvent::Denied:
            news = DeniedMessage{.jar = id_, .record = report.denial};
            break;
    }
    return news;
}

void Jar::start(const StartMessage& order) {
    if (!std::exchange(waits_, false) || told_to_end_) {
        return;
    }
    const double cpu = static_cast<double>(order.cpu_thousandths) / 1000.0;
    if (const auto changed = resources_.cgroup.change(Bytes{order.memory_bytes}, cpu); !changed) {
        fail_with(Step::MakeCgroup, changed.error().sys_errno);
        kill(KillReason::None);
        return;
    }
    timeout_ = std::min<Duration>(Duration(order.timeout_nanoseconds), kLongestTime);
    if (guest_started_) {
        cpu_before_ = resources_.cgroup.usage().cpu;
        started_ = Clock::now();
        deadline_ = started_ + timeout_;
    }
}

// The user namespace exists: gives it its one user and lets init go on.
Result<void> Jar::give_identity(Packet packet) {
    if (packet.fds.size() == 2) {
        workspace_ = std::move(packet.fds[0]);
        tmp_ = std::move(packet.fds[1]);
        used_when_empty_ = fill_of(workspace_).used;
        resources_.image.device.reset();  // the mount holds it from now on
    }
    if (const Result<void> mapped = jar::map_identity(process_.pid(), host_user_); !mapped) {
        fail_with(Step::MapIdentity, mapped.error().sys_errno);
        kill(KillReason::None);
        return {};
    }
    return let_init_go_on();
}

Result<void> Jar::let_init_go_on() {
    const std::byte proceed{1};
    Result<void> sent = jar::send_packet(reports_, std::span(&proceed, 1), {});
    if (!sent && sent.error().sys_errno != EPIPE) {
        return sent;
    }
    return {};  // EPIPE: killed in the meantime, on_exit() follows
}

// The run is over. Nothing of the jar's files is held any longer: who holds a file system last has
// to remove it, with all that is still to be written, and that is init's to do. Other jars wait for
// this process.
void Jar::finish() {
    if (finished_ != TimePoint{}) {
        return;
    }
    finished_ = Clock::now();
    const Fill workspace = fill_of(workspace_);
    outcome_.disk_used_bytes = workspace.used - std::min(workspace.used, used_when_empty_);
    outcome_.disk_full = workspace.full || fill_of(tmp_).full ? 1 : 0;
    workspace_.reset();
    tmp_.reset();
}

void Jar::kill(KillReason reason) {
    if (outcome_.kill_reason == KillReason::None && outcome_.exited == 0) {
        outcome_.kill_reason = reason;
    }
    // Without a pid namespace only init can end everything that the guest started.
    const bool ask = mode_ == jar::Mode::Nested && guest_started_ && !told_to_end_;
    deadline_ = ask ? Clock::now() + kTimeToEnd : TimePoint::max();
    told_to_end_ = true;
    finish();
    // ESRCH: it has ended by itself in the meantime.
    [[maybe_unused]] const Result<void> sent = process_.signal(ask ? SIGTERM : SIGKILL);
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
    rusage waited{};
    BJ_TRY([[maybe_unused]] const int status, process_.wait(&waited));
    finish();  // if init ended without a word
    if (!guest_started_ && outcome_.kill_reason == KillReason::None) {
        fail_with(Step::ReceiveSpec, ECHILD);
    }
    // Killed just before its guest started, a run has taken no time.
    outcome_.wall_nanoseconds =
        static_cast<std::uint64_t>(std::max(finished_ - started_, Duration{}).count());
    const CgroupUsage usage = resources_.cgroup.usage();
    // Without a cgroup: what init and those it reaped have used, and the largest of them.
    outcome_.cpu_nanoseconds = usage.cpu > Duration{}
                                   ? static_cast<std::uint64_t>((usage.cpu - cpu_before_).count())
                                   : cpu_nanoseconds(waited);
    outcome_.memory_peak_bytes = usage.memory_peak_bytes > 0
                                     ? usage.memory_peak_bytes
                                     : static_cast<std::uint64_t>(waited.ru_maxrss) * 1024;
    outcome_.out_of_memory_kills = usage.out_of_memory_kills;
    outcome_.processes_peak = usage.processes_peak;
    outcome_.process_limit_hits = usage.process_limit_hits;
    resources_.image.device.reset();
    return {};
}

void Jar::fail_with(Step step, int sys_errno) {
    if (!failure_) {
        failure_ = FailedMessage{.jar = id_, .step = step, .sys_errno = sys_errno};
    }
}

}  // namespace belljar::isolation
