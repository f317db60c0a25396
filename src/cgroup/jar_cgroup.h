#pragma once

#include <optional>
#include <utility>

#include "cgroup/cgroupfs.h"

namespace belljar::cgroup {

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
    [[nodiscard]] std::vector<Fd> take_tasks_files() { return std::exchange(tasks_, {}); }
    // Version 2, for who is not born in it: the file that does the same, at the kernel's full
    // price.
    Result<void> add_members_file(std::vector<Fd>& files) const;

    // Version 1 ends one process when memory runs out and leaves the others. This becomes readable
    // then, and out_of_memory() says whether the jar has to be ended. Invalid on version 2, where
    // the kernel ends the whole jar.
    [[nodiscard]] const Fd& oom_event() const { return oom_event_; }
    // Takes the event. False if it was about another: the kernel tells all below the full cgroup.
    [[nodiscard]] bool out_of_memory() const;

    Result<void> change(Bytes memory, double cpu);
    // From now on one process ends when memory runs out, and what was the most memory is forgotten
    // where the kernel can (version 1).
    void begin_cell() const;
    [[nodiscard]] bool populated() const;
    // Ends every process in it. Version 2 does it without waiting for their end; version 1 repeats
    // until none is left, and fails if one does not go within half a second.
    Result<void> kill() const;
    [[nodiscard]] CgroupUsage usage() const;
    [[nodiscard]] bool counts_cpu_time() const;
    [[nodiscard]] Duration cpu_time() const;
    // How many processes and threads are in it; nothing if nobody counts them.
    [[nodiscard]] std::optional<std::uint64_t> processes() const;
    // Removes the directories; fails with EBUSY while a process is left in one of them.
    Result<void> remove();

   private:
    friend class JarCgroups;

    std::vector<Cgroup> cgroups_;  // in the order in which a process joins them
    std::vector<Fd> tasks_;
    Fd unified_;
    Fd oom_event_;
    execution::Limits limits_;
};

// The subtrees that the keeper made, one in each hierarchy; jars are made in them.
class JarCgroups {
   public:
    JarCgroups() = default;
    explicit JarCgroups(const std::vector<std::string>& trees);

    // Version 2: a place for who clones processes into the cgroups of jars, and the right to do so
    // for a user who is not the host's root. Invalid where version 2 is not used.
    [[nodiscard]] Result<Fd> make_nursery(uid_t user);
    [[nodiscard]] Result<JarCgroup> make(std::uint64_t jar, const execution::Limits& limits) const;
    [[nodiscard]] std::uint32_t layers() const { return layers_; }  // Layer bits

   private:
    std::vector<Cgroup> trees_;
    Result<void> prepared_;  // no jar is made in a tree that could not be
    std::uint32_t layers_ = 0;
    std::optional<uid_t> nursery_user_;
};

}  // namespace belljar::cgroup
