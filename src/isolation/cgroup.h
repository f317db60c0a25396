#pragma once

#include "isolation/cgroupfs.h"

namespace belljar::isolation {

// The cgroups of one jar: one directory in each hierarchy in use. Made empty, used once, removed.
class JarCgroup {
   public:
    JarCgroup() = default;
    JarCgroup(JarCgroup&&) noexcept = default;
    JarCgroup& operator=(JarCgroup&&) noexcept = default;
    ~JarCgroup();

    // Descriptor for CLONE_INTO_CGROUP, or -1 without a version 2 tree.
    [[nodiscard]] int clone_target() const { return unified_.get(); }
    // Version 1 `tasks` files. The child writes "0" into each itself: the kernel then skips the
    // global lock that costs the parent milliseconds.
    [[nodiscard]] const std::vector<Fd>& tasks_files() const { return tasks_; }

    // Version 1 ends one process when memory runs out and leaves the others. This becomes readable
    // then, and out_of_memory() says whether the jar has to be ended. Invalid on version 2, where
    // the kernel ends the whole jar.
    [[nodiscard]] const Fd& oom_event() const { return oom_event_; }
    // Takes the event. False if it was about another: the kernel tells all below the full cgroup.
    [[nodiscard]] bool out_of_memory() const;

    [[nodiscard]] bool populated() const;
    // Ends every process in it. Version 2 does it without waiting for their end; version 1 repeats
    // until none is left, and fails if one does not go within half a second.
    Result<void> kill() const;
    [[nodiscard]] CgroupUsage usage() const;
    // Removes the directories; fails with EBUSY while a process is left in one of them.
    Result<void> remove();

   private:
    friend class CgroupTree;

    std::vector<Cgroup> cgroups_;  // in the order in which a process joins them
    std::vector<Fd> tasks_;
    Fd unified_;
    Fd oom_event_;
};

// The warden's own subtree, in the cgroup it was started in or, on version 2, in the highest above
// that it may change. Everything Belljar makes is in here, and a lock on it tells a living warden
// from a dead one.
class CgroupTree {
   public:
    // Makes the subtree in every hierarchy that can hold a limit. A hierarchy that cannot be used
    // is left out and shows in layers(), so that the configured floor can refuse it.
    // `own_processes` are moved aside where version 2 demands that inner cgroups hold none.
    static Result<CgroupTree> create(const std::vector<pid_t>& own_processes,
                                     std::vector<Hierarchy> layout = read_layout());

    [[nodiscard]] Result<JarCgroup> make_jar(std::uint64_t jar, const execution::Limits& limits);
    [[nodiscard]] std::uint32_t layers() const { return layers_; }  // Layer bits
    // Why a hierarchy could not be used, one line for each attempt.
    [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
    // Removes the subtree; every jar in it must be gone.
    Result<void> remove();

   private:
    void add(const Hierarchy& hierarchy, const std::vector<pid_t>& own_processes);

    std::vector<Cgroup> cgroups_;
    std::vector<Fd> locks_;
    std::uint32_t layers_ = 0;
    std::vector<std::string> problems_;
};

// Kills what still runs in the subtrees of wardens that no longer live and removes them, wherever
// they are, waiting up to five seconds for each. Returns how many there were.
std::size_t remove_stale_cgroup_trees();

}  // namespace belljar::isolation
