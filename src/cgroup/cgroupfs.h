#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "execution/limits.h"

// The cgroup file system: where its hierarchies are, and the files in its directories. Those that
// are there say what a cgroup can do, in either version.
namespace belljar::cgroup {

// One hierarchy and the directory in it that this process belongs to.
struct Hierarchy {
    bool unified = true;  // version 2
    std::string mount_point{};
    std::string own_directory{};
    // What jars use of version 2. Each cgroup says for itself which of them it offers.
    std::vector<std::string> controllers{"memory", "pids", "cpu", "io", "hugetlb"};
};

// The hierarchies that jars use, out of the text of /proc/self/cgroup and what is mounted below
// `root`: version 2 on it or on `unified` in it, version 1 on a directory named after a controller.
[[nodiscard]] std::vector<Hierarchy> find_layout(std::string_view membership,
                                                 const std::string& root);
// The layout of this host; empty without cgroups.
[[nodiscard]] std::vector<Hierarchy> read_layout();

// What the kernel counted for one jar; 0 for what it does not count.
struct CgroupUsage {
    Duration cpu{};
    std::uint64_t memory_peak_bytes = 0;  // version 2: since Linux 5.19
    std::uint64_t out_of_memory_kills = 0;
    std::uint64_t processes_peak = 0;  // since Linux 6.1
    std::uint64_t process_limit_hits = 0;
};

[[nodiscard]] bool has_control(const std::string& path);
[[nodiscard]] Result<Fd> open_control(const std::string& path, int access);
Result<void> write_control(const std::string& path, std::string_view value);
// What stands between blanks; nothing if there is no such file.
[[nodiscard]] std::vector<std::string> read_words(const std::string& path);
// The first word, or the one after `key`; 0 if there is none.
[[nodiscard]] std::uint64_t read_number(const std::string& path, std::string_view key = {});
[[nodiscard]] std::uint64_t read_number(const Fd& file, std::string_view key = {});

// Only its owner may open it, so that nobody else can hold a lock on it.
[[nodiscard]] Result<void> make_directory(const std::string& path);
[[nodiscard]] Result<Fd> make_cgroup(const std::string& path);

// A cgroup, those files for limits and counters that it has, and what they make of it.
struct Cgroup {
    std::string path{};
    std::vector<std::string> controls{};
    std::uint32_t layers = 0;  // Layer bits

    // Files that are wanted again when somebody waits: to open one takes longer than to use it.
    std::map<std::string, Fd, std::less<>> opened{};

    [[nodiscard]] bool has(std::string_view control) const;
    [[nodiscard]] std::uint64_t read(std::string_view control, std::string_view key = {}) const;
};

[[nodiscard]] Cgroup examine_cgroup(const std::string& path);
// Opens its counters and its share of the processor, for good.
void open_for_runs(Cgroup& cgroup);
enum class Limited { NotYet, Already };
// Writes every limit that it can hold.
[[nodiscard]] Result<void> apply_limits(const Cgroup& cgroup, const execution::Limits& limits,
                                        Limited before);
// They are the host's own store, which no other limit counts. Version 2: a limit of the tree is one
// of every jar in it. Version 1 is asked for each jar, which else would not be in such a tree.
[[nodiscard]] Result<void> forbid_huge_pages(const Cgroup& tree);
// Writes what says how much of the processor it gets, and nothing else.
[[nodiscard]] Result<void> apply_share(const Cgroup& cgroup, const execution::Limits& limits);
// Adds what it has counted.
void add_usage(const Cgroup& cgroup, CgroupUsage& usage);
[[nodiscard]] Duration cpu_time_of(const Cgroup& cgroup);
// Whether a share of input and output means anything: only one scheduler of the kernel's knows it.
[[nodiscard]] bool disks_have_weights();

[[nodiscard]] std::vector<pid_t> list_processes(const std::string& path);
// Version 2 ends all at once. Version 1 has no such order: whoever is listed is ended, which a fork
// can outrun, so repeat it until this returns true.
[[nodiscard]] bool kill_processes(const std::string& path);
// Asks again and again, for what the kernel does a moment later.
[[nodiscard]] bool becomes_true(const std::function<bool()>& condition, Duration patience);

}  // namespace belljar::cgroup
