#include "base/fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

namespace belljar {

Fd& Fd::operator=(Fd&& other) noexcept {
    if (this != &other) {
        reset();
        number_ = other.release();
    }
    return *this;
}

int Fd::release() { return std::exchange(number_, -1); }

void Fd::reset() {
    if (number_ >= 0) {
        ::close(number_);
        number_ = -1;
    }
}

Result<PidFd> PidFd::open(pid_t child) {
    const long number = ::syscall(SYS_pidfd_open, child, 0);
    if (number < 0) {
        return fail(system_error("pidfd_open"));
    }
    return PidFd(child, Fd(static_cast<int>(number)));
}

Result<PidFd> PidFd::open_child(pid_t named) {
    BJ_TRY(PidFd opened, open(named));
    siginfo_t info{};
    if (::waitid(P_PIDFD, static_cast<id_t>(opened.fd_.get()), &info,
                 WEXITED | WNOHANG | WNOWAIT | __WALL) != 0) {
        return fail(system_error("waitid"));
    }
    return opened;
}

Result<void> PidFd::signal(int number) const {
    if (::syscall(SYS_pidfd_send_signal, fd_.get(), number, nullptr, 0) != 0) {
        return fail(system_error("pidfd_send_signal"));
    }
    return {};
}

Result<int> PidFd::wait(rusage* usage) const {
    int status = 0;
    pid_t reaped = -1;
    do {
        reaped = ::wait4(pid_, &status, __WALL, usage);
    } while (reaped < 0 && errno == EINTR);
    if (reaped < 0) {
        return fail(system_error("wait4"));
    }
    return status;
}

Result<void> open_missing_standard_descriptors() {
    for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
        if (::fcntl(number, F_GETFD) >= 0) {
            continue;
        }
        // The lowest free number is taken, and that is this one. It is inherited on purpose.
        if (::open("/dev/null", O_RDWR) != number) {
            return fail(system_error("open /dev/null"));
        }
    }
    return {};
}

Result<Fd> duplicate(int number) {
    Fd copy(::fcntl(number, F_DUPFD_CLOEXEC, 0));
    if (!copy.valid()) {
        return fail(system_error("F_DUPFD"));
    }
    return copy;
}

Result<Pipe> make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        return fail(system_error("pipe2"));
    }
    return Pipe{.read_end = Fd(ends[0]), .write_end = Fd(ends[1])};
}

Result<Fd> make_sealed_file(const std::string& name, std::string_view content) {
    Fd file(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file.valid()) {
        return fail(system_error("memfd_create"));
    }
    BJ_TRY_VOID(write_all(file, content));
    if (::lseek(file.get(), 0, SEEK_SET) != 0) {
        return fail(system_error("lseek"));
    }
    // The kernel refuses for a moment if a part of it looks at the pages, as its memory management
    // does now and then. Each try waits for up to 150 ms.
    constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    constexpr int kTries = 20;
    for (int attempt = 0; ::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0; ++attempt) {
        if (errno != EBUSY || attempt == kTries) {
            return fail(system_error("F_ADD_SEALS"));
        }
    }
    return file;
}

Result<void> write_all(const Fd& fd, std::string_view data) {
    while (!data.empty()) {
        const ssize_t written = ::write(fd.get(), data.data(), data.size());
        if (written < 0) {
            if (errno == EINTR) {
                continue;
            }
            return fail(system_error("write"));
        }
        data.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
}

Result<void> write_all(const Outlet& outlet, std::string_view data) {
    while (!data.empty()) {
        std::array<pollfd, 2> watched{{{.fd = outlet.fd.get(), .events = POLLOUT, .revents = 0},
                                       {.fd = outlet.stop.get(), .events = POLLIN, .revents = 0}}};
        if (::poll(watched.data(), watched.size(), -1) < 0) {
            if (errno == EINTR) {
                continue;
            }
            return fail(system_error("poll"));
        }
        if (watched[0].revents == 0) {
            return fail(ErrorCode::Cancelled, "stopped before all was written");
        }
        // A pipe that has room takes as much as that without blocking.
        const std::size_t piece = std::min<std::size_t>(data.size(), PIPE_BUF);
        const ssize_t written = ::write(outlet.fd.get(), data.data(), piece);
        if (written < 0 && errno != EINTR && errno != EAGAIN) {
            return fail(system_error("write"));
        }
        data.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
    return {};
}

Result<std::string> read_all(const Fd& fd, Bytes limit) {
    std::string content;
    std::array<char, 65536> buffer{};
    while (true) {
        const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
        if (count < 0) {
            if (errno == EINTR) {
                continue;
            }
            return fail(system_error("read"));
        }
        if (count == 0) {
            return content;
        }
        content.append(buffer.data(), static_cast<std::size_t>(count));
        if (content.size() > limit.count) {
            return fail(ErrorCode::TooLarge, "larger than the limit of " + format_bytes(limit));
        }
    }
}

Result<std::string> read_file(const std::string& path, Bytes limit) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file.valid()) {
        return fail(system_error("open " + path));
    }
    return read_all(file, limit);
}

}  // namespace belljar
