#include "jar/guest.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "jar/landlock.h"
#include "jar/launcher.h"
#include "jar/local_paths.h"
#include "jar/scratch.h"
#include "jar/seccomp_filter.h"
#include "jar/seqpacket.h"
#include "jar/step_runner.h"
#include "jar/surroundings.h"
#include "jar/zygote.h"

namespace belljar::jar {
namespace {

// Copies are made at or above this number, clear of every number that a guest is given.
constexpr int kOutOfTheWay = 64;

// First out of the way, then to their places.
Result<void> place_descriptors(const Spec& spec) {
    std::array<int, kGuestFdCount> copies{};
    for (std::size_t index = 0; index < kGuestFdCount; ++index) {
        copies[index] = ::fcntl(spec.descriptors[index].get(), F_DUPFD_CLOEXEC, kOutOfTheWay);
    }
    for (std::size_t index = 0; index < kGuestFdCount; ++index) {
        if (copies[index] < 0 || ::dup2(copies[index], static_cast<int>(index)) < 0) {
            return fail(system_error("dup2"));
        }
    }
    return {};
}

// Everything but the guest's own and these two, which the exec closes.
Result<void> close_others(const Fd& warden, const Fd& listener_socket) {
    const auto low = static_cast<unsigned>(std::min(warden.get(), listener_socket.get()));
    const auto high = static_cast<unsigned>(std::max(warden.get(), listener_socket.get()));
    const auto close_between = [](unsigned first, unsigned last) {
        return first > last || ::syscall(SYS_close_range, first, last, 0) == 0;
    };
    if (!close_between(kGuestFdCount, low - 1) || !close_between(low + 1, high - 1) ||
        !close_between(high + 1, ~0U)) {
        return fail(system_error("close_range"));
    }
    return {};
}

Result<void> start_session() {
    if (::setsid() < 0) {
        return fail(system_error("setsid"));
    }
    return {};
}

Result<void> enter_workspace(const Spec& spec) {
    if (spec.message.workspace != WorkspaceKind::Directory) {
        return ::chdir("/workspace") == 0 ? Result<void>{} : fail(system_error("chdir"));
    }
    if (::fchdir(spec.workspace.get()) != 0 || ::chdir(kWorkspaceName) != 0) {
        return fail(system_error("chdir"));
    }
    return {};
}

std::vector<std::string> environment_of(const Spec& spec) {
    const LocalPaths paths(spec.message.workspace);
    std::vector<std::string> variables;
    for (const std::string& variable : spec.command.environment) {
        variables.push_back(paths.translate_variable(variable));
    }
    return variables;
}

void reset_signals() {
    for (int number = 1; number < NSIG; ++number) {
        ::signal(number, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

FilterOptions filter_options(Mode mode, OnRefusal on_refusal) {
    return {.on_refusal = on_refusal,
            .reach = mode == Mode::Nested ? Reach::HostNamespaces : Reach::OwnNamespaces};
}

// Last before exec. Init answers for refused calls, unless a listener is there already: a
// container's own, of which there can be only one. Refused calls then fail just the same, untold.
Result<void> install_seccomp(Mode mode, const Fd& listener_socket,
                             std::span<const sock_filter> filter) {
    Result<Fd> listener = install_filter(filter, OnRefusal::Notify);
    if (!listener && listener.error().sys_errno == EBUSY && mode == Mode::Nested) {
        listener =
            install_filter(build_filter(filter_options(mode, OnRefusal::Errno)), OnRefusal::Errno);
    }
    if (!listener) {
        return fail(std::move(listener).error());
    }
    const std::byte mark{1};
    const int number = listener->get();
    return send_packet(listener_socket, std::span(&mark, 1),
                       std::span(&number, listener->valid() ? 1 : 0));
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (const std::string& text : strings) {
        result.push_back(const_cast<char*>(text.c_str()));
    }
    result.push_back(nullptr);
    return result;
}

[[noreturn]] void execute_command(const Spec& spec, const Fd& warden) {
    const std::vector<char*> arguments = pointers(spec.command.arguments);
    const std::vector<std::string> variables = environment_of(spec);
    const std::vector<char*> environment = pointers(variables);
    ::execve(arguments[0], arguments.data(), environment.data());
    StepRunner(warden).end(Step::Execute, system_error("execve"));
}

}  // namespace

std::vector<sock_filter> make_guest_filter(Mode mode) {
    return build_filter(filter_options(mode, OnRefusal::Notify));
}

void confine_guest(const Spec& spec, const Fd& warden, const Fd& listener_socket,
                   std::span<const sock_filter> filter) {
    const StepRunner steps(warden);
    steps.run(Step::EnterWorkspace, enter_workspace, spec);
    steps.run(Step::NewSession, start_session);
    if (spec.message.write_execute == WriteExecute::Denied) {
        steps.run(Step::DenyWriteExecute, deny_write_execute);
    }
    steps.run(Step::EnterLandlock, enter_landlock, spec);
    steps.run(Step::PlaceDescriptors, place_descriptors, spec);
    steps.run(Step::CloseDescriptors, close_others, warden, listener_socket);
    steps.run(Step::InstallFilter, install_seccomp, spec.message.mode, listener_socket, filter);
}

void become_guest(const Spec& spec, const Fd& warden, const Fd& listener_socket) {
    reset_signals();
    confine_guest(spec, warden, listener_socket, make_guest_filter(spec.message.mode));
    if (spec.message.guest == GuestKind::Launcher) {
        become_launcher(spec.message.workspace);
    }
    execute_command(spec, warden);
}

void execute_zygote(const Spec& spec, const Fd& warden_socket, const Fd& own_process) {
    const Fd warden(::fcntl(warden_socket.get(), F_DUPFD_CLOEXEC, kOutOfTheWay));
    const Fd process(::fcntl(own_process.get(), F_DUPFD_CLOEXEC, kOutOfTheWay));
    const StepRunner steps(warden);
    reset_signals();
    steps.run(Step::PlaceDescriptors, place_descriptors, spec);
    steps.run(Step::CloseDescriptors, close_others, warden, process);
    if (::dup2(process.get(), kZygoteProcess) < 0) {
        steps.end(Step::PlaceDescriptors, system_error("dup2"));
    }
    execute_command(spec, warden);
}

}  // namespace belljar::jar
