#pragma once

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <ctime>
#include <optional>

#include "base/fd.h"
#include "base/result.h"
#include "jar/stage.h"

// Where jars are born: a process in a user namespace of its own, whose root is nobody on the host.
// It holds the user ids of all jars, so their other namespaces can belong to it instead of to the
// host, and what closes a jar from inside never has a right of the host's root.
namespace belljar::jar {

// The user ids that it gets, from 0 on; 0 of them: it stays in the user namespace of the caller.
struct NurseryIds {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

// Stages that are kept at a time. A server needs one for its zygotes and one for its jars; each
// more is for another pack of tools.
inline constexpr std::uint32_t kMostStages = 16;

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
    // The stage with these files: one that was made before, or a new one. Both as long as what it
    // was made from is the same.
    [[nodiscard]] Result<std::uint32_t> stage_for(const SpecMessage& spec, const Fd& pack);
    // Orders a process in new namespaces that becomes the init of a jar, as it is told over
    // `socket`; a child of the caller. It is born on `stage`. `cgroup` is a version 2 directory to
    // be born in, or -1.
    [[nodiscard]] Result<void> order(const Fd& socket, std::uint32_t stage, int cgroup) const;
    // Who was ordered. There is one order at a time: this follows each of them, whatever happens.
    [[nodiscard]] Result<PidFd> take_born() const;
    // Both for a zygote: in the pid namespace of the nursery, from where it reaches those of jars,
    // and in its cgroup.
    [[nodiscard]] Result<PidFd> bear_zygote(const Fd& socket, std::uint32_t stage) const;

   private:
    // What a stage is made from. The pack is told by what the kernel knows of the file, which
    // nobody can write to any more; it is not held, so that a new stage costs no descriptor.
    struct Stage {
        StagePlan plan{};
        struct stat pack{};  // of zeros: none
        timespec alternatives{};

        [[nodiscard]] bool operator==(const Stage& other) const;
    };

    void end();

    PidFd process_;
    Fd socket_;
    std::array<std::optional<Stage>, kMostStages> stages_{};
    std::uint32_t oldest_ = 0;
};

// Without namespaces: starts the program `init` as that of a jar. Not by clone3, which containers
// refuse, since their filters cannot see its flags.
[[nodiscard]] Result<PidFd> fork_init(const Fd& init, const Fd& socket);

// In the program `init`.
[[noreturn]] void become_nursery(const Fd& warden);

}  // namespace belljar::jar
