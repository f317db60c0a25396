#include "jar/init.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

#include "jar/denial_watch.h"
#include "jar/guest.h"
#include "jar/landlock.h"
#include "jar/process_tree.h"
#include "jar/reports.h"
#include "jar/scratch.h"
#include "jar/seqpacket.h"
#include "jar/step_runner.h"

namespace belljar::jar {
namespace {

// What init keeps is at or above this number; everything below it is the guest's.
constexpr int kKept = 64;

Result<Fd> keep(const Fd& fd) {
    Fd kept(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kKept));
    if (!kept.valid()) {
        return fail(system_error("F_DUPFD"));
    }
    return kept;
}

// The ends of children, and the warden's order to end where there is no pid namespace.
Result<Fd> open_signals() {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    sigaddset(&wanted, SIGTERM);
    if (::sigprocmask(SIG_BLOCK, &wanted, nullptr) != 0) {
        return fail(system_error("sigprocmask"));
    }
    const Fd signals(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    return keep(signals);
}

Result<void> hide_from_guest(Mode mode) {
    if (::prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL) != 0) {
        return fail(system_error("PR_SET_DUMPABLE"));
    }
    if (mode == Mode::Nested && ::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL) != 0) {
        return fail(system_error("PR_SET_CHILD_SUBREAPER"));
    }
    return {};
}

// So that everything in the jar can be ended by one signal, where there is no pid namespace whose
// end does it. Who has an id of its own reaches nobody else to begin with.
Result<Everybody> confine_own_signals(const Spec& spec) {
    const SpecMessage& message = spec.message;
    if (message.mode != Mode::Nested) {
        return Everybody::Anyone;
    }
    BJ_TRY(const Everybody everybody, confine_signals(message.landlock_abi));
    const bool own_user = message.own_user == 1 && message.outer_user != 0 &&
                          ::getuid() == message.outer_user && ::geteuid() == message.outer_user;
    return own_user ? Everybody::OneJar : everybody;
}

Result<void> forget_descriptors() {
    if (::syscall(SYS_close_range, 0U, static_cast<unsigned>(kKept - 1), 0) != 0) {
        return fail(system_error("close_range"));
    }
    return {};
}

void tell(const Fd& warden, JarEvent event, int value) {
    JarReport report{};
    report.event = event;
    report.value = value;
    [[maybe_unused]] const Result<void> sent = send_report(warden, report);
}

class Init {
   public:
    Init(Mode mode, Everybody everybody, Fd warden, Fd signals, Fd workspace)
        : mode_(mode),
          everybody_(everybody),
          warden_(std::move(warden)),
          signals_(std::move(signals)),
          workspace_(std::move(workspace)) {}

    // Until the guest has ended. Without `denials` the kernel answers refused calls by itself.
    [[noreturn]] void watch(pid_t guest, std::optional<DenialWatch> denials) {
        while (true) {
            std::array<pollfd, 2> entries{
                {{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                 {.fd = denials ? denials->listener().get() : -1, .events = POLLIN, .revents = 0}}};
            if (::poll(entries.data(), entries.size(), -1) < 0 && errno != EINTR) {
                finish(std::nullopt);
            }
            if ((entries[1].revents & POLLIN) != 0) {
                const Result<void> answered =
                    denials->on_readable([this](const DenialRecord& record) { report(record); });
                if (!answered) {
                    denials.reset();  // the kernel now answers ENOSYS: still a refusal
                }
            } else if (entries[1].revents != 0) {
                tell(warden_, JarEvent::NobodyLeft, 0);
                denials.reset();
            }
            if (entries[0].revents != 0) {
                on_signal(guest);
            }
        }
    }

   private:
    void report(const DenialRecord& record) const {
        JarReport report{};
        report.event = JarEvent::Denied;
        report.denial = record;
        [[maybe_unused]] const Result<void> sent = send_report(warden_, report);
    }

    void on_signal(pid_t guest) {
        signalfd_siginfo signal{};
        while (::read(signals_.get(), &signal, sizeof(signal)) == sizeof(signal)) {
            if (signal.ssi_signo == SIGTERM && mode_ == Mode::Nested) {
                finish(std::nullopt);
            }
        }
        int status = 0;
        for (pid_t ended = ::waitpid(-1, &status, WNOHANG | __WALL); ended > 0;
             ended = ::waitpid(-1, &status, WNOHANG | __WALL)) {
            if (ended == guest) {
                finish(status);
            }
        }
    }

    [[noreturn]] void finish(std::optional<int> status) {
        if (status) {
            tell(warden_, JarEvent::GuestExited, *status);
        }
        if (mode_ == Mode::Nested) {
            const bool ended = end_jar(everybody_).has_value();
            const bool removed = empty_scratch(workspace_).has_value();
            ::_exit(ended && removed ? 0 : 1);
        }
        if (status) {
            // Until the warden has looked at the files: who lets go of them last has the work.
            [[maybe_unused]] const Result<Packet> seen = receive_packet(warden_);
        }
        ::_exit(0);  // the kernel ends every other process of the pid namespace
    }

    Mode mode_;
    Everybody everybody_;
    Fd warden_;
    Fd signals_;
    Fd workspace_;  // without namespaces, what the guest leaves is removed by us
};

// One comes from outside, as a child of the warden's.
pid_t await_guest(const StepRunner& steps, const Fd& warden, const Fd& listener_socket) {
    JarReport report{};
    report.event = JarEvent::AwaitsGuest;
    const int number = listener_socket.get();
    steps.run(Step::ForkGuest, send_report, warden, report, std::span(&number, 1));
    return -1;
}

pid_t fork_guest(const StepRunner& steps, const Spec& spec, const Fd& warden,
                 const Fd& listener_socket) {
    tell(warden, JarEvent::GuestStarts, 0);
    const pid_t guest = ::fork();
    if (guest < 0) {
        steps.end(Step::ForkGuest, system_error("fork"));
    }
    if (guest == 0) {
        become_guest(spec, warden, listener_socket);
    }
    return guest;
}

}  // namespace

void become_init(Spec spec, const Fd& warden_socket) {
    const Mode mode = spec.message.mode;
    const StepRunner first(warden_socket);
    Fd warden = first.value(Step::CloseDescriptors, keep, warden_socket);
    const StepRunner steps(warden);
    Fd signals = steps.value(Step::CloseDescriptors, open_signals);
    steps.run(Step::CloseDescriptors, hide_from_guest, mode);
    SocketPair pair = steps.value(Step::CloseDescriptors, make_seqpacket_pair);
    Fd listener_source = steps.value(Step::CloseDescriptors, keep, pair.first);
    Fd listener_socket = steps.value(Step::CloseDescriptors, keep, pair.second);
    Fd workspace = spec.message.workspace == WorkspaceKind::Directory
                       ? steps.value(Step::CloseDescriptors, keep, spec.workspace)
                       : Fd();
    const Everybody everybody = steps.value(Step::EnterLandlock, confine_own_signals, spec);
    const pid_t guest = spec.message.guest == GuestKind::Fork
                            ? await_guest(steps, warden, listener_socket)
                            : fork_guest(steps, spec, warden, listener_socket);
    // Init keeps nothing of the guest's: an open pipe end here would hide its end of file.
    listener_socket.reset();
    spec = Spec{};
    pair = SocketPair{};
    steps.run(Step::CloseDescriptors, forget_descriptors);
    Result<Packet> listener = receive_packet(listener_source);
    listener_source.reset();
    std::optional<DenialWatch> denials;
    if (listener && listener->fds.size() == 1) {
        const Reach reach = mode == Mode::Nested ? Reach::HostNamespaces : Reach::OwnNamespaces;
        denials = steps.value(Step::InstallFilter, DenialWatch::create,
                              std::move(listener->fds.front()), reach);
    }
    Init init(mode, everybody, std::move(warden), std::move(signals), std::move(workspace));
    init.watch(guest, std::move(denials));
}

}  // namespace belljar::jar
