#pragma once

#include <grp.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>

#include "base/fd.h"
#include "jar/denial_watch.h"
#include "jar/seccomp_filter.h"

namespace belljar::jar {

// Puts a child where the calls that tests make can do no harm: in network and IPC namespaces of its
// own, with only loopback, and without the rights of root.
inline bool leave_host() {
    const rlimit no_core{.rlim_cur = 1, .rlim_max = 1};
    constexpr unsigned kNobody = 65534;
    const bool root = ::geteuid() == 0;
    if (::setrlimit(RLIMIT_CORE, &no_core) != 0 ||
        ::unshare(CLONE_NEWIPC | CLONE_NEWNET | (root ? 0 : CLONE_NEWUSER)) != 0) {
        return false;
    }
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq loopback{};
    std::strcpy(loopback.ifr_name, "lo");
    loopback.ifr_flags = IFF_UP;
    return ::ioctl(socket.get(), SIOCSIFFLAGS, &loopback) == 0 &&
           (!root || (::setgroups(0, nullptr) == 0 && ::setresgid(kNobody, kNobody, kNobody) == 0 &&
                      ::setresuid(kNobody, kNobody, kNobody) == 0)) &&
           ::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0;
}

// A forked child that runs a function under a filter, and this process in the place of init.
class FilteredChild {
   public:
    // The child ends with what `body` returns, or with 125 if it could not be put under the filter.
    FilteredChild(const FilterOptions& options, const std::function<int()>& body)
        : options_(options) {
        Result<Pipe> listener_number = make_pipe();
        Result<Pipe> go = make_pipe();
        if (!listener_number || !go) {
            ADD_FAILURE() << "no pipe";
            return;
        }
        const pid_t pid = ::fork();
        if (pid == 0) {
            go->write_end.reset();
            ::_exit(enter(options, listener_number->write_end, go->read_end) ? body() : 125);
        }
        Result<PidFd> process = PidFd::open(pid);
        int number = -1;
        listener_number->write_end.reset();
        if (!process || ::read(listener_number->read_end.get(), &number, sizeof number) < 0) {
            ADD_FAILURE() << "the child cannot be reached";
            return;
        }
        process_ = std::move(*process);
        if (number >= 0) {
            listener_ =
                Fd(static_cast<int>(::syscall(SYS_pidfd_getfd, process_.fd().get(), number, 0)));
        }
    }

    FilteredChild(const FilteredChild&) = delete;
    FilteredChild& operator=(const FilteredChild&) = delete;

    ~FilteredChild() {
        if (process_.valid()) {
            [[maybe_unused]] const Result<void> killed = process_.signal(SIGKILL);
            [[maybe_unused]] const Result<int> status = process_.wait();
        }
    }

    [[nodiscard]] DenialWatch watch() {
        Result<DenialWatch> made = DenialWatch::create(std::move(listener_), options_.reach);
        EXPECT_TRUE(made.has_value());
        return std::move(*made);
    }

    [[nodiscard]] const PidFd& process() const { return process_; }

    // Answers until the child has ended; its wait status.
    int serve(DenialWatch& watch, const DenialWatch::Tell& tell) {
        while (true) {
            std::array<pollfd, 2> entries{
                {{.fd = watch.listener().get(), .events = POLLIN, .revents = 0},
                 {.fd = process_.fd().get(), .events = POLLIN, .revents = 0}}};
            if (::poll(entries.data(), entries.size(), -1) < 0 && errno != EINTR) {
                ADD_FAILURE() << "poll";
                return -1;
            }
            if ((entries[0].revents & POLLIN) != 0) {
                EXPECT_TRUE(watch.on_readable(tell).has_value());
            } else if (entries[1].revents != 0) {
                return wait();
            }
        }
    }

    int wait() {
        const Result<int> status = process_.wait();
        process_ = PidFd();
        EXPECT_TRUE(status.has_value());
        return status.value_or(-1);
    }

   private:
    static bool enter(const FilterOptions& options, const Fd& listener_number, const Fd& go) {
        if (!leave_host()) {
            return false;
        }
        Result<Fd> listener = install_filter(build_filter(options), options.on_refusal);
        if (!listener) {
            return false;
        }
        const int number = listener->get();
        char byte = 0;
        // The other end of `go` closes once the parent has its copy of the listener.
        return ::write(listener_number.get(), &number, sizeof number) == sizeof number &&
               ::read(go.get(), &byte, 1) == 0;
    }

    FilterOptions options_;
    PidFd process_;
    Fd listener_;
};

}  // namespace belljar::jar
