#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace belljar {

// Owns one file descriptor and closes it. Every descriptor made here is O_CLOEXEC.
class Fd {
   public:
    Fd() = default;
    explicit Fd(int number) : number_(number) {}
    Fd(Fd&& other) noexcept : number_(other.release()) {}
    Fd& operator=(Fd&& other) noexcept;
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;
    ~Fd() { reset(); }

    [[nodiscard]] int get() const { return number_; }
    [[nodiscard]] bool valid() const { return number_ >= 0; }
    // Gives the descriptor up; the caller closes it.
    [[nodiscard]] int release();
    void reset();

   private:
    int number_ = -1;
};

// The process a pidfd names: waiting and signalling without the reuse race of plain pids.
class PidFd {
   public:
    PidFd() = default;
    PidFd(pid_t pid, Fd fd) : pid_(pid), fd_(std::move(fd)) {}

    // For a child of this process that is not yet reaped, so the pid is still its own.
    static Result<PidFd> open(pid_t child);
    // The same for one that somebody else names: ECHILD if it is no child of this process.
    static Result<PidFd> open_child(pid_t named);

    // Only for messages and /proc paths of a child that is not reaped yet.
    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] const Fd& fd() const { return fd_; }
    [[nodiscard]] bool valid() const { return fd_.valid(); }
    Result<void> signal(int number) const;
    // Blocks until the child has ended; returns its raw wait status. `usage`, if given, receives
    // what it and the children it waited for have used.
    Result<int> wait(rusage* usage = nullptr) const;

   private:
    pid_t pid_ = -1;
    Fd fd_;
};

// Opens /dev/null in the place of every standard descriptor that is closed. First thing in main:
// else the next socket we open gets the number of standard output, and output goes into it.
[[nodiscard]] Result<void> open_missing_standard_descriptors();

// Another number for the same open file, closed on exec like all of ours.
[[nodiscard]] Result<Fd> duplicate(int number);

struct Pipe {
    Fd read_end;
    Fd write_end;
};

[[nodiscard]] Result<Pipe> make_pipe();

// A sealed, anonymous read-only file holding `content`; each call makes a new inode, so that no
// offset and no lock is shared between two holders.
[[nodiscard]] Result<Fd> make_sealed_file(const std::string& name, std::string_view content);

[[nodiscard]] Result<void> write_all(const Fd& fd, std::string_view data);

// Where to write, and until when to wait for room there.
struct Outlet {
    const Fd& fd;
    const Fd& stop;  // readable: no longer
};

// Cancelled if there is no room when the wait is over. Leaves the descriptor as it is: it may be
// shared with others, who must not find it non-blocking.
[[nodiscard]] Result<void> write_all(const Outlet& outlet, std::string_view data);

// Everything up to end of file; TooLarge beyond `limit`.
[[nodiscard]] Result<std::string> read_all(const Fd& fd, Bytes limit);
[[nodiscard]] Result<std::string> read_file(const std::string& path, Bytes limit);

}  // namespace belljar
