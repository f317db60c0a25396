#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "cgroup/cgroupfs.h"

namespace belljar::keeper {

// The subtrees in which the warden makes the cgroups of jars: in the cgroup we were started in or,
// on version 2, in the highest above that we may change. Everything Belljar makes is in here, and a
// lock on it tells a living keeper from a dead one.
class CgroupTree {
   public:
    // Makes the subtree in every hierarchy that can hold a limit. A hierarchy that cannot be used
    // is left out and named in problems(); what jars lack without it shows in their layers.
    // `own_processes` are moved aside where version 2 demands that inner cgroups hold none.
    static CgroupTree create(const std::vector<pid_t>& own_processes,
                             const std::vector<cgroup::Hierarchy>& layout);

    // One directory in each hierarchy in use, in the order in which a process joins them.
    [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }
    // Why a hierarchy could not be used, one line for each attempt.
    [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
    // Removes the subtree; every jar in it must be gone.
    Result<void> remove();

   private:
    void add(const cgroup::Hierarchy& hierarchy, const std::vector<pid_t>& own_processes);

    std::vector<std::string> paths_;
    std::vector<Fd> locks_;
    std::vector<std::string> problems_;
};

// Kills what still runs in the subtrees of keepers that no longer live and removes them, wherever
// they are, waiting up to five seconds for each. Returns how many there were.
std::size_t remove_stale_cgroup_trees();

}  // namespace belljar::keeper
