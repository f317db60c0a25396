#include "isolation/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <thread>

#include "base/id.h"
#include "isolation/cgroup_control.h"
#include "isolation/warden_messages.h"

namespace belljar::isolation {
namespace {

constexpr std::string_view kTreePrefix = "belljar-";
constexpr std::size_t kTreeDigits = 16;
constexpr std::string_view kAsideName = "server";

// Ours alone: what somebody else calls belljar-something is left alone.
bool is_tree_name(std::string_view name) {
    return name.size() == kTreePrefix.size() + kTreeDigits && name.starts_with(kTreePrefix) &&
           name.find_first_not_of("0123456789abcdef", kTreePrefix.size()) == std::string_view::npos;
}

Result<void> limit_version_one(const Fd& directory, const Hierarchy& hierarchy,
                               const execution::Limits& limits) {
    if (hierarchy.has("memory")) {
        const std::string memory = std::to_string(limits.memory.count);
        BJ_TRY_VOID(write_control(directory, "memory.limit_in_bytes", memory));
        if (has_control(directory, "memory.memsw.limit_in_bytes")) {
            BJ_TRY_VOID(write_control(directory, "memory.memsw.limit_in_bytes", memory));
        }
    }
    if (hierarchy.has("pids")) {
        BJ_TRY_VOID(write_control(directory, "pids.max", std::to_string(limits.processes)));
    }
    if (hierarchy.has("cpu")) {
        const auto shares = static_cast<std::uint64_t>(std::max(limits.cpu * 1024.0, 2.0));
        BJ_TRY_VOID(write_control(directory, "cpu.shares", std::to_string(shares)));
    }
    return {};
}

Result<void> limit_version_two(const Fd& directory, const Hierarchy& hierarchy,
                               const execution::Limits& limits) {
    if (hierarchy.has("memory")) {
        BJ_TRY_VOID(write_control(directory, "memory.max", std::to_string(limits.memory.count)));
        BJ_TRY_VOID(write_control(directory, "memory.oom.group", "1"));
        if (has_control(directory, "memory.swap.max")) {
            BJ_TRY_VOID(write_control(directory, "memory.swap.max", "0"));
        }
    }
    if (hierarchy.has("pids")) {
        BJ_TRY_VOID(write_control(directory, "pids.max", std::to_string(limits.processes)));
    }
    if (hierarchy.has("cpu")) {
        const double weight = std::clamp(limits.cpu * 100.0, 1.0, 10000.0);
        const std::string text = std::to_string(static_cast<unsigned>(weight));
        BJ_TRY_VOID(write_control(directory, "cpu.weight", text));
    }
    return write_control(directory, "cgroup.max.descendants", "0");
}

std::string enabling_text(const Hierarchy& hierarchy) {
    std::string text;
    for (const std::string& controller : hierarchy.controllers) {
        text += fmt::format("+{} ", controller);
    }
    return text;
}

Result<void> enable_controllers(const Fd& directory, const Hierarchy& hierarchy) {
    if (hierarchy.controllers.empty()) {
        return {};
    }
    return write_control(directory, "cgroup.subtree_control", enabling_text(hierarchy));
}

// Version 2 hands controllers down only from a cgroup without processes of its own, so ours step
// aside into a leaf of the tree.
Result<void> step_aside(const Fd& tree, const std::vector<pid_t>& own_processes) {
    const std::string name(kAsideName);
    if (::mkdirat(tree.get(), name.c_str(), 0755) != 0) {
        return fail(system_error("mkdir cgroup"));
    }
    const Fd aside(::openat(tree.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (const pid_t process : own_processes) {
        BJ_TRY_VOID(write_control(aside, "cgroup.procs", std::to_string(process)));
    }
    return {};
}

// Whether a cgroup holds nobody but us, as that of a service does.
bool holds_only(const Fd& directory, const std::vector<pid_t>& own_processes) {
    const std::vector<pid_t> held = read_processes(directory);
    return std::ranges::all_of(held, [&](pid_t process) {
        return std::ranges::find(own_processes, process) != own_processes.end();
    });
}

// A tree below `parent` whose jars will have the controllers.
Result<Fd> make_tree(const std::string& parent, const std::string& name, const Hierarchy& hierarchy,
                     const std::vector<pid_t>& own_processes) {
    BJ_TRY(const Fd above, lock_cgroup(parent));
    const std::string path = parent + "/" + name;
    BJ_TRY(Fd tree, make_cgroup(path));
    Result<void> ready{};
    if (hierarchy.version == Hierarchy::Version::Two) {
        ready = enable_controllers(above, hierarchy);
        if (!ready && ready.error().sys_errno == EBUSY && holds_only(above, own_processes)) {
            ready = step_aside(tree, own_processes);
            ready = ready ? enable_controllers(above, hierarchy) : std::move(ready);
        }
        ready = ready ? enable_controllers(tree, hierarchy) : std::move(ready);
    }
    if (ready && ::flock(tree.get(), LOCK_EX | LOCK_NB) != 0) {
        ready = fail(system_error("flock cgroup"));
    }
    if (!ready) {
        ::rmdir(path.c_str());
        return fail(std::move(ready).error());
    }
    return tree;
}

// The own cgroup, or the one from which we have stepped aside.
std::string home_of(const Hierarchy& hierarchy) {
    const std::string& own = hierarchy.own_directory;
    const std::size_t aside = own.rfind('/');
    const std::size_t tree = aside == 0 ? std::string::npos : own.rfind('/', aside - 1);
    if (aside == std::string::npos || tree == std::string::npos ||
        own.substr(aside + 1) != kAsideName ||
        !is_tree_name(own.substr(tree + 1, aside - tree - 1))) {
        return own;
    }
    return own.substr(0, tree);
}

// Where a tree may be: below the own cgroup; for version 2 also at the top, where a login session
// with a shell in it stands in the way of the first.
std::vector<std::string> possible_parents(const Hierarchy& hierarchy) {
    std::vector<std::string> parents{home_of(hierarchy)};
    if (hierarchy.version == Hierarchy::Version::Two && hierarchy.mount_point != parents.front()) {
        parents.push_back(hierarchy.mount_point);
    }
    return parents;
}

// The hierarchy with the controllers that a tree below `parent` would have.
Hierarchy seen_from(const Hierarchy& hierarchy, const std::string& parent) {
    Hierarchy seen = hierarchy;
    if (hierarchy.version == Hierarchy::Version::Two) {
        seen.controllers = offered_controllers(parent);
    }
    return seen;
}

// systemd ends a whole service when a jar in it runs out of memory, unless the service's cgroup was
// delegated to it.
bool is_kept_by_systemd(const Hierarchy& seen, const std::string& parent) {
    char mark = 0;
    return seen.has("memory") && ::access("/run/systemd/system", F_OK) == 0 &&
           (::getxattr(parent.c_str(), "trusted.delegate", &mark, sizeof(mark)) != 1 ||
            mark != '1');
}

bool lacks_limits(const Hierarchy& here, const Hierarchy& elsewhere) {
    return (!here.has("memory") && elsewhere.has("memory")) ||
           (!here.has("pids") && elsewhere.has("pids"));
}

std::vector<std::string> child_directories(const std::string& path) {
    std::vector<std::string> names;
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
    while (directory) {
        const dirent* entry = ::readdir(directory.get());
        if (entry == nullptr) {
            break;
        }
        const std::string name = entry->d_name;
        if (entry->d_type == DT_DIR && name != "." && name != "..") {
            names.push_back(name);
        }
    }
    return names;
}

void kill_processes(const std::string& path) {
    const Result<Fd> directory = open_cgroup(path);
    if (!directory || write_control(*directory, "cgroup.kill", "1")) {
        return;
    }
    // Version 1 has no group kill: end each process it lists. The caller repeats until none is
    // left.
    for (const pid_t process : read_processes(*directory)) {
        if (process > 1 && process != ::getpid()) {
            ::kill(process, SIGKILL);
        }
    }
}

Result<void> disable_controllers(const Fd& directory) {
    std::string text = " " + read_control(directory, "cgroup.subtree_control");
    std::erase(text, '\n');
    for (std::size_t space = text.find(' '); space != std::string::npos && space + 1 < text.size();
         space = text.find(' ', space + 2)) {
        text.insert(space + 1, "-");
    }
    return write_control(directory, "cgroup.subtree_control", text);
}

// Undoes step_aside(): a cgroup may hold processes again once it hands nothing down.
void step_back(const std::string& tree_path) {
    const Result<Fd> aside = open_cgroup(tree_path + "/" + std::string(kAsideName));
    const Result<Fd> tree = open_cgroup(tree_path);
    const Result<Fd> above = open_cgroup(tree_path.substr(0, tree_path.rfind('/')));
    if (!aside || !tree || !above || !disable_controllers(*tree) || !disable_controllers(*above)) {
        return;
    }
    for (const pid_t process : read_processes(*aside)) {
        // One that has ended in the meantime needs no place.
        [[maybe_unused]] const Result<void> moved =
            write_control(*above, "cgroup.procs", std::to_string(process));
    }
    ::unlinkat(tree->get(), std::string(kAsideName).c_str(), AT_REMOVEDIR);
}

// True once the subtree is gone.
bool try_remove_tree(const std::string& path) {
    for (const std::string& name : child_directories(path)) {
        const std::string child = path + "/" + name;
        if (name != kAsideName && ::rmdir(child.c_str()) != 0) {
            kill_processes(child);
        }
    }
    if (child_directories(path) == std::vector{std::string(kAsideName)}) {
        step_back(path);
    }
    return ::rmdir(path.c_str()) == 0 || errno == ENOENT;
}

bool remove_tree(const std::string& path) {
    constexpr auto kPatience = std::chrono::seconds(5);
    const TimePoint deadline = Clock::now() + kPatience;
    while (!try_remove_tree(path)) {
        if (Clock::now() > deadline) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

std::size_t remove_stale_below(const std::string& parent) {
    std::size_t removed = 0;
    const Result<Fd> above = lock_cgroup(parent);
    for (const std::string& name : child_directories(parent)) {
        const std::string path = parent + "/" + name;
        const Result<Fd> tree = is_tree_name(name) ? open_cgroup(path) : Result<Fd>(Fd());
        // A living warden holds the lock.
        if (tree && tree->valid() && ::flock(tree->get(), LOCK_EX | LOCK_NB) == 0) {
            removed += remove_tree(path) ? 1U : 0U;
        }
    }
    return removed;
}

}  // namespace

JarCgroup::~JarCgroup() {
    // What cannot be removed now is removed with the whole tree.
    [[maybe_unused]] const Result<void> removed = remove();
}

CgroupUsage JarCgroup::usage() const {
    CgroupUsage usage;
    for (const Directory& directory : directories_) {
        const bool one = directory.hierarchy.version == Hierarchy::Version::One;
        const Fd& fd = directory.fd;
        if (directory.hierarchy.has("memory")) {
            usage.memory_peak_bytes =
                read_number(fd, one ? "memory.max_usage_in_bytes" : "memory.peak");
            usage.out_of_memory_kills =
                read_keyed(fd, one ? "memory.oom_control" : "memory.events", "oom_kill");
        }
        if (directory.hierarchy.has("pids")) {
            usage.processes_peak = read_number(fd, "pids.peak");
            usage.process_limit_hits = read_keyed(fd, "pids.events", "max");
        }
        if (directory.hierarchy.has("cpuacct")) {
            usage.cpu = std::chrono::nanoseconds(read_number(fd, "cpuacct.usage"));
        }
        if (!one && usage.cpu == Duration{}) {
            usage.cpu = std::chrono::microseconds(read_keyed(fd, "cpu.stat", "usage_usec"));
        }
    }
    return usage;
}

Result<void> JarCgroup::remove() {
    tasks_.clear();
    unified_.reset();
    while (!directories_.empty()) {
        if (::rmdir(directories_.back().path.c_str()) != 0 && errno != ENOENT) {
            return fail(system_error("rmdir cgroup"));
        }
        directories_.pop_back();
    }
    return {};
}

Result<CgroupTree> CgroupTree::create(const std::vector<pid_t>& own_processes) {
    BJ_TRY(const std::vector<Hierarchy> layout, read_layout());
    const std::string name = std::string(kTreePrefix) + random_hex(kTreeDigits / 2);
    CgroupTree tree;
    for (const Hierarchy& hierarchy : layout) {
        tree.add(hierarchy, name, own_processes);
    }
    return tree;
}

void CgroupTree::add(const Hierarchy& hierarchy, const std::string& name,
                     const std::vector<pid_t>& own_processes) {
    const std::vector<std::string> parents = possible_parents(hierarchy);
    const Hierarchy at_top = seen_from(hierarchy, parents.back());
    for (const std::string& parent : parents) {
        const bool last = &parent == &parents.back();
        Hierarchy seen = seen_from(hierarchy, parent);
        if (!last && (lacks_limits(seen, at_top) || is_kept_by_systemd(seen, parent))) {
            continue;
        }
        Result<Fd> made = make_tree(parent, name, seen, own_processes);
        if (made) {
            hierarchies_.push_back(std::move(seen));
            paths_.push_back(parent + "/" + name);
            locks_.push_back(std::move(*made));
            return;
        }
        problems_.push_back(made.error().describe());
    }
}

Result<JarCgroup> CgroupTree::make_jar(std::uint64_t jar, const execution::Limits& limits) {
    JarCgroup cgroup;
    for (std::size_t index = 0; index < hierarchies_.size(); ++index) {
        const Hierarchy& hierarchy = hierarchies_[index];
        const std::string path = fmt::format("{}/jar-{}", paths_[index], jar);
        BJ_TRY(Fd directory, make_cgroup(path));
        cgroup.directories_.push_back(
            {.hierarchy = hierarchy, .path = path, .fd = std::move(directory)});
        const Fd& fd = cgroup.directories_.back().fd;
        const bool one = hierarchy.version == Hierarchy::Version::One;
        Result<void> limited = one ? limit_version_one(fd, hierarchy, limits)
                                   : limit_version_two(fd, hierarchy, limits);
        if (one && limited) {
            cgroup.tasks_.emplace_back(::openat(fd.get(), "tasks", O_WRONLY | O_CLOEXEC));
        } else if (limited) {
            cgroup.unified_ = Fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
        }
        if (!limited || (one && !cgroup.tasks_.back().valid())) {
            return fail(limited ? system_error("open tasks") : std::move(limited).error());
        }
    }
    return cgroup;
}

std::uint32_t CgroupTree::layers() const {
    std::uint32_t layers = 0;
    for (const Hierarchy& hierarchy : hierarchies_) {
        layers |= hierarchy.has("memory") ? static_cast<std::uint32_t>(Layer::MemoryLimit) : 0U;
        layers |= hierarchy.has("pids") ? static_cast<std::uint32_t>(Layer::ProcessLimit) : 0U;
        layers |= hierarchy.has("cpu") ? static_cast<std::uint32_t>(Layer::CpuShare) : 0U;
    }
    return layers;
}

Result<void> CgroupTree::remove() {
    while (!paths_.empty()) {
        if (!remove_tree(paths_.back())) {
            return fail(system_error("remove cgroup tree", EBUSY));
        }
        paths_.pop_back();
    }
    hierarchies_.clear();
    locks_.clear();
    return {};
}

std::size_t remove_stale_cgroup_trees() {
    std::size_t removed = 0;
    const Result<std::vector<Hierarchy>> layout = read_layout();
    if (!layout) {
        return removed;
    }
    for (const Hierarchy& hierarchy : *layout) {
        for (const std::string& parent : possible_parents(hierarchy)) {
            removed += remove_stale_below(parent);
        }
    }
    return removed;
}

}  // namespace belljar::isolation
