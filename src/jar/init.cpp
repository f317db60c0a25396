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
#include <vector>

#include "base/turns.h"
#include "jar/courier.h"
#include "jar/denial_watch.h"
#include "jar/guest.h"
#include "jar/landlock.h"
#include "jar/process_tree.h"
#include "jar/reports.h"
#include "jar/scratch.h"
#include "jar/seqpacket.h"
#include "jar/step_runner.h"
#include "jar/zygote.h"

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

// The guest and what it started, where a pid namespace holds them. Who was born outside of it is
// reaped there, a little later.
void end_others() {
    constexpr int kMostTries = 4000;
    constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 500'000};
    for (int tries = 0; tries < kMostTries && ::kill(-1, SIGKILL) == 0; ++tries) {
        while (::waitpid(-1, nullptr, WNOHANG | __WALL) > 0) {
        }
        ::nanosleep(&kPause, nullptr);
    }
}

// From outside of the pid namespace, where there is one: a guest can send signals as well.
bool is_order_to_end(const signalfd_siginfo& signal, Mode mode) {
    const bool from_outside = signal.ssi_pid == 0 && signal.ssi_code == SI_USER;
    return signal.ssi_signo == SIGTERM && (mode == Mode::Nested || from_outside);
}

class Init {
   public:
    // What init has in its hands while the guest runs.
    struct Holdings {
        Fd warden{};
        Fd signals{};
        Fd scratch{};  // without namespaces, what the guest leaves is removed by us
        std::optional<Courier> courier{};
    };

    Init(Mode mode, Everybody everybody, Holdings holdings)
        : mode_(mode),
          everybody_(everybody),
          warden_(std::move(holdings.warden)),
          signals_(std::move(holdings.signals)),
          scratch_(std::move(holdings.scratch)),
          courier_(std::move(holdings.courier)) {}

    // Until the guest has ended. Without `denials` the kernel answers refused calls by itself.
    [[noreturn]] void watch(pid_t guest, std::optional<DenialWatch> denials) {
        if (denials) {
            denials->on_internet([this] { show_network(); });
        }
        while (true) {
            std::array<pollfd, 4> entries{
                {{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                 {.fd = denials ? denials->listener().get() : -1, .events = POLLIN, .revents = 0},
                 {.fd = courier_ ? courier_->socket().get() : -1, .events = POLLIN, .revents = 0},
                 {.fd = warden_.get(), .events = POLLIN, .revents = 0}}};
            if (::poll(entries.data(), entries.size(), -1) < 0 && errno != EINTR) {
                finish(std::nullopt);
            }
            if (entries[3].revents != 0) {
                finish(std::nullopt);  // before its guest has ended, the warden says only one thing
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
            if (entries[2].revents != 0 && !courier_->on_readable()) {
                courier_.reset();
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

    // Whoever holds these files reads what the kernel has counted, even when everybody is gone.
    void show_network() const {
        std::vector<Fd> files;
        std::vector<int> numbers;
        for (const char* path : {"/proc/self/net/snmp", "/proc/self/net/snmp6"}) {
            Fd file(::open(path, O_RDONLY | O_CLOEXEC));
            if (file.valid()) {
                numbers.push_back(file.get());
                files.push_back(std::move(file));
            }
        }
        JarReport report{};
        report.event = JarEvent::UsesNetwork;
        [[maybe_unused]] const Result<void> sent = send_report(warden_, report, numbers);
    }

    void on_signal(pid_t guest) {
        signalfd_siginfo signal{};
        while (::read(signals_.get(), &signal, sizeof(signal)) == sizeof(signal)) {
            if (is_order_to_end(signal, mode_)) {
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
            send_files();
            const bool removed = empty_scratch(scratch_).has_value();
            ::_exit(ended && removed ? 0 : 1);
        }
        if (status) {
            // Until the warden has looked at the files: who lets go of them last has the work.
            [[maybe_unused]] const Result<Packet> seen = receive_packet(warden_);
        }
        if (courier_ && courier_->awaited()) {
            end_others();
            send_files();
        }
        ::_exit(0);  // the kernel ends every other process of the pid namespace
    }

    // Nobody is left who could change them. Whoever does not get them knows it by the stream's end.
    void send_files() {
        if (courier_ && courier_->awaited()) {
            [[maybe_unused]] const Result<void> sent =
                courier_->send_changes(Courier::Guests::Ended);
        }
    }

    Mode mode_;
    Everybody everybody_;
    Fd warden_;
    Fd signals_;
    Fd scratch_;
    std::optional<Courier> courier_;
};

// The files of the guest's workspace come and go through it.
Result<std::optional<Courier>> find_courier(const Spec& spec) {
    if (!spec.courier.valid()) {
        return std::optional<Courier>();
    }
    const bool own_tree = spec.message.workspace != WorkspaceKind::Directory;
    const Fd workspace(::openat(own_tree ? AT_FDCWD : spec.workspace.get(),
                                own_tree ? "/workspace" : kWorkspaceName,
                                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!workspace.valid()) {
        return fail(system_error("open the workspace"));
    }
    BJ_TRY(Fd kept_workspace, keep(workspace));
    BJ_TRY(Fd kept_socket, keep(spec.courier));
    return std::optional<Courier>(std::in_place, std::move(kept_socket), std::move(kept_workspace));
}

// The way by which init gets the guest's seccomp listener; its other end, if the guest has yet to
// be forked here.
Result<SocketPair> make_listener_sockets(const Spec& spec) {
    if (spec.message.guest == GuestKind::Fork) {
        BJ_TRY(Fd kept, keep(spec.guest_socket));
        return SocketPair{.first = std::move(kept), .second = {}};
    }
    BJ_TRY(const SocketPair made, make_seqpacket_pair());
    BJ_TRY(Fd first, keep(made.first));
    BJ_TRY(Fd second, keep(made.second));
    return SocketPair{.first = std::move(first), .second = std::move(second)};
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
    auto [listener_source, listener_socket] =
        steps.value(Step::CloseDescriptors, make_listener_sockets, spec);
    Init::Holdings holdings;
    holdings.courier = steps.value(Step::CloseDescriptors, find_courier, spec);
    if (spec.message.workspace == WorkspaceKind::Directory) {
        holdings.scratch = steps.value(Step::CloseDescriptors, keep, spec.workspace);
    }
    const Everybody everybody = steps.value(Step::EnterLandlock, confine_own_signals, spec);
    pid_t guest = -1;
    if (spec.message.guest == GuestKind::Fork) {
        steps.run(Step::ForkGuest, let_in, listener_source);  // a child of the warden's
    } else {
        guest = fork_guest(steps, spec, warden, listener_socket);
    }
    // Init keeps nothing of the guest's: an open pipe end here would hide its end of file.
    listener_socket.reset();
    spec = Spec{};
    steps.run(Step::CloseDescriptors, forget_descriptors);
    Result<Packet> listener = receive_packet(listener_source);
    listener_source.reset();
    std::optional<DenialWatch> denials;
    if (listener && listener->fds.size() == 1) {
        const Reach reach = mode == Mode::Nested ? Reach::HostNamespaces : Reach::OwnNamespaces;
        denials = steps.value(Step::InstallFilter, DenialWatch::create,
                              std::move(listener->fds.front()), reach);
    }
    // A guest that ends wakes us while it is still busy with that, and somebody waits for our word.
    ask_for_short_turns();
    holdings.warden = std::move(warden);
    holdings.signals = std::move(signals);
    Init init(mode, everybody, std::move(holdings));
    init.watch(guest, std::move(denials));
}

}  // namespace belljar::jar
