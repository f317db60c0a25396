#include "isolation/jar_init.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "isolation/jar_reports.h"

namespace belljar::isolation {
namespace {

// Copies are made at or above this number, clear of every number that a guest is given.
constexpr int kOutOfTheWay = 64;

[[noreturn]] void end_with(const Fd& warden, Step step, int sys_errno) {
    const JarReport report{.event = JarEvent::StepFailed, .step = step, .value = sys_errno};
    [[maybe_unused]] const Result<void> sent = send_report(warden, report);
    ::_exit(125);
}

// Only the wanted descriptors survive: first out of the way, then to their places, then all others
// are closed, not merely marked.
void place_descriptors(const JarSpec& spec, const Fd& warden) {
    std::array<int, kGuestFdCount> copies{};
    for (std::size_t index = 0; index < kGuestFdCount; ++index) {
        copies[index] = ::fcntl(spec.descriptors[index].get(), F_DUPFD_CLOEXEC, kOutOfTheWay);
    }
    for (std::size_t index = 0; index < kGuestFdCount; ++index) {
        if (copies[index] < 0 || ::dup2(copies[index], static_cast<int>(index)) < 0) {
            end_with(warden, Step::PlaceDescriptors, errno);
        }
    }
    if (::syscall(SYS_close_range, kGuestFdCount, warden.get() - 1, 0) != 0 ||
        ::syscall(SYS_close_range, warden.get() + 1, ~0U, 0) != 0) {
        end_with(warden, Step::CloseDescriptors, errno);
    }
}

void reset_signals() {
    for (int number = 1; number < NSIG; ++number) {
        ::signal(number, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (const std::string& text : strings) {
        result.push_back(const_cast<char*>(text.c_str()));
    }
    result.push_back(nullptr);
    return result;
}

[[noreturn]] void become_guest(const JarSpec& spec, const Fd& warden) {
    place_descriptors(spec, warden);
    if (::setsid() < 0) {
        end_with(warden, Step::NewSession, errno);
    }
    if (::chdir("/workspace") != 0) {
        end_with(warden, Step::EnterWorkspace, errno);
    }
    reset_signals();
    const std::vector<char*> arguments = pointers(spec.command.arguments);
    const std::vector<char*> environment = pointers(spec.command.environment);
    ::execve(arguments[0], arguments.data(), environment.data());
    end_with(warden, Step::Execute, errno);
}

[[noreturn]] void wait_for_guest(pid_t guest, const Fd& warden) {
    while (true) {
        int status = 0;
        const pid_t ended = ::waitpid(-1, &status, __WALL);
        if (ended < 0 && errno == EINTR) {
            continue;
        }
        if (ended == guest || ended < 0) {
            const JarReport report{.event = JarEvent::GuestExited, .step = {}, .value = status};
            [[maybe_unused]] const Result<void> sent = send_report(warden, report);
            ::_exit(0);
        }
    }
}

}  // namespace

void become_init(const JarSpec& spec, const Fd& warden_socket) {
    const Fd warden(::fcntl(warden_socket.get(), F_DUPFD_CLOEXEC, kOutOfTheWay));
    if (!warden.valid() || ::prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL) != 0) {
        end_with(warden_socket, Step::CloseDescriptors, errno);
    }
    const JarReport starts{.event = JarEvent::GuestStarts, .step = {}, .value = 0};
    if (!send_report(warden, starts)) {
        ::_exit(125);
    }
    const pid_t guest = ::fork();
    if (guest < 0) {
        end_with(warden, Step::ForkGuest, errno);
    }
    if (guest == 0) {
        become_guest(spec, warden);
    }
    // Init keeps nothing of the guest's: an open pipe end here would hide its end of file.
    if (::syscall(SYS_close_range, 0, warden.get() - 1, 0) != 0 ||
        ::syscall(SYS_close_range, warden.get() + 1, ~0U, 0) != 0) {
        end_with(warden, Step::CloseDescriptors, errno);
    }
    wait_for_guest(guest, warden);
}

}  // namespace belljar::isolation
