#pragma once

#include <cstdint>

#include "base/fd.h"
#include "base/result.h"

// Where jars are born: a process in a user namespace of its own, whose root is nobody on the host.
// It holds the user ids of all jars, so their other namespaces can belong to it instead of to the
// host, and what closes a jar from inside never has a right of the host's root.
namespace belljar::jar {

// The user ids that it gets, from 0 on; 0 of them: it stays in the user namespace of the caller.
struct NurseryIds {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

// The end that the warden holds.
class Nursery {
   public:
    Nursery() = default;
    Nursery(Nursery&&) noexcept = default;
    Nursery& operator=(Nursery&& other) noexcept;
    Nursery(const Nursery&) = delete;
    Nursery& operator=(const Nursery&) = delete;
    ~Nursery() { end(); }

    // Starts the program `init` as a nursery. `cgroup` is a version 2 directory for it, or -1.
    static Result<Nursery> start(const Fd& init, NurseryIds ids, int cgroup);

    [[nodiscard]] pid_t pid() const { return process_.pid(); }
    // Orders a process in new namespaces that becomes the init of a jar, as it is told over
    // `socket`; a child of the caller. `cgroup` is a version 2 directory to be born in, or -1.
    [[nodiscard]] Result<void> order(const Fd& socket, int cgroup) const;
    // Who was ordered. There is one order at a time: this follows each of them, whatever happens.
    [[nodiscard]] Result<PidFd> take_born() const;
    // Both for a zygote: in the pid namespace of the nursery, from where it reaches those of jars,
    // and in its cgroup.
    [[nodiscard]] Result<PidFd> bear_zygote(const Fd& socket) const;

   private:
    enum class Kind : std::uint8_t { Jar, Zygote };

    [[nodiscard]] Result<void> send_order(Kind kind, const Fd& socket, int cgroup) const;
    void end();

    PidFd process_;
    Fd socket_;
};

// In the program `init`.
[[noreturn]] void become_nursery(const Fd& warden);

}  // namespace belljar::jar
