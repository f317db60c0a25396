#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "execution/limits.h"
#include "isolation/cgroup_layout.h"

namespace belljar::isolation {

// What the kernel counted for one jar.
struct CgroupUsage {
    Duration cpu{};
    std::uint64_t memory_peak_bytes = 0;
    std::uint64_t out_of_memory_kills = 0;
    std::uint64_t processes_peak = 0;
    std::uint64_t process_limit_hits = 0;
};

// The cgroups of one jar: one directory in each hierarchy in use. Made empty, used once, removed.
class JarCgroup {
   public:
    JarCgroup() = default;
    JarCgroup(JarCgroup&&) noexcept = default;
    JarCgroup& operator=(JarCgroup&&) noexcept = default;
    JarCgroup(const JarCgroup&) = delete;
    JarCgroup& operator=(const JarCgroup&) = delete;
    ~JarCgroup();

    // Descriptor for CLONE_INTO_CGROUP, or -1 without a version 2 tree.
    [[nodiscard]] int clone_target() const { return unified_.get(); }
    // Version 1 `tasks` files. The child writes "0" into each itself: the kernel then skips the
    // global lock that costs the parent milliseconds.
    [[nodiscard]] const std::vector<Fd>& tasks_files() const { return tasks_; }
    [[nodiscard]] std::vector<Fd> take_tasks_files() { return std::exchange(tasks_, {}); }
    [[nodiscard]] const Fd& oom_event() const { return oom_event_; }

    [[nodiscard]] CgroupUsage usage() const;
    // Removes the directories; fails with EBUSY while a process is left in one of them.
    Result<void> remove();

   private:
    friend class CgroupTree;

    struct Directory {
        Hierarchy hierarchy;
        std::string path;
        Fd fd;
    };

    std::vector<Directory> directories_;
    std::vector<Fd> tasks_;
    Fd unified_;
    Fd oom_event_;
};

// The warden's own subtree, below the cgroup it was started in. Everything Belljar makes is in
// here, and a lock on it tells a living warden from a dead one.
class CgroupTree {
   public:
    // Makes the subtree in every hierarchy that can hold a limit. A hierarchy that cannot be used
    // is left out and shows in layers(), so that the configured floor can refuse it.
    // `own_processes` are moved aside where version 2 demands that inner cgroups hold none.
    static Result<CgroupTree> create(const std::vector<pid_t>& own_processes);

    [[nodiscard]] Result<JarCgroup> make_jar(std::uint64_t jar, const execution::Limits& limits);
    [[nodiscard]] std::uint32_t layers() const;  // Layer bits
    // Why a hierarchy could not be used, one line for each attempt.
    [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
    // Removes the subtree; every jar in it must be gone.
    Result<void> remove();

   private:
    void add(const Hierarchy& hierarchy, const std::string& name,
             const std::vector<pid_t>& own_processes);

    std::vector<Hierarchy> hierarchies_;
    std::vector<std::string> paths_;
    std::vector<Fd> locks_;
    std::vector<std::string> problems_;
};

// Kills what still runs in the subtrees of wardens that no longer live and removes them, waiting up
// to five seconds for each. Returns how many there were.
std::size_t remove_stale_cgroup_trees();

}  // namespace belljar::isolation
