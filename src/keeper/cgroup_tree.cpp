#include "keeper/cgroup_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "base/id.h"

namespace belljar::keeper {
namespace {

constexpr std::string_view kTreePrefix = "belljar-";
constexpr std::size_t kTreeDigits = 16;
constexpr const char* kAside = "/server";

using Names = std::vector<std::string>;
using Processes = std::vector<pid_t>;

// Ours alone: what somebody else calls belljar-something is left alone.
bool is_tree_name(std::string_view name) {
    return name.size() == kTreePrefix.size() + kTreeDigits && name.starts_with(kTreePrefix) &&
           name.find_first_not_of("0123456789abcdef", kTreePrefix.size()) == std::string_view::npos;
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

Names children_of(const std::string& path) {
    Names children;
    std::error_code gone;  // while it is read
    for (std::filesystem::directory_iterator entry(path, gone), end; !gone && entry != end;
         entry.increment(gone)) {
        if (entry->is_directory(gone)) {
            children.push_back(entry->path());
        }
    }
    return children;
}

// Version 2: '+' hands controllers down to the children of a cgroup, '-' takes them back.
Result<void> change_controllers(const std::string& path, char sign, const Names& names) {
    std::string text;
    for (const std::string& name : names) {
        text += fmt::format("{}{} ", sign, name);
    }
    return cgroup::write_control(path + "/cgroup.subtree_control", text);
}

// Our own processes leave the cgroup above for a leaf of the tree.
Result<void> step_aside(const std::string& tree, const Processes& own) {
    const Processes held = cgroup::list_processes(parent_of(tree));
    const auto is_own = [&own](pid_t process) { return std::ranges::count(own, process) > 0; };
    if (!std::ranges::all_of(held, is_own) || std::ranges::count(held, 0) > 0) {
        return fail(system_error("others are in the same cgroup", EBUSY));
    }
    BJ_TRY([[maybe_unused]] const Fd made, cgroup::make_cgroup(tree + kAside));
    for (const pid_t process : held) {
        const Result<void> moved =
            cgroup::write_control(tree + kAside + "/cgroup.procs", std::to_string(process));
        if (!moved && moved.error().sys_errno != ESRCH) {  // one that has ended needs no place
            return moved;
        }
    }
    return {};
}

// Undoes step_aside(): a cgroup may hold processes again once it hands nothing down.
void step_back(const std::string& tree) {
    for (const std::string& path : {tree, parent_of(tree)}) {
        [[maybe_unused]] const Result<void> changed =
            change_controllers(path, '-', cgroup::read_words(path + "/cgroup.subtree_control"));
    }
    for (const pid_t process : cgroup::list_processes(tree + kAside)) {
        // One that has ended in the meantime needs no place.
        [[maybe_unused]] const Result<void> moved =
            cgroup::write_control(parent_of(tree) + "/cgroup.procs", std::to_string(process));
    }
}

// True once the subtree is gone.
bool try_remove_tree(const std::string& tree) {
    const Names children = children_of(tree);
    for (const std::string& child : children) {
        if (::rmdir(child.c_str()) != 0 && child != tree + kAside) {
            [[maybe_unused]] const bool ended = cgroup::kill_processes(child);
        }
    }
    if (children == Names{tree + kAside}) {
        step_back(tree);
    }
    return ::rmdir(tree.c_str()) == 0 || errno == ENOENT;
}

bool remove_tree(const std::string& tree) {
    return cgroup::becomes_true([&tree] { return try_remove_tree(tree); }, std::chrono::seconds(5));
}

// Those of `wanted` that a tree in `path` would have.
Names offered(const std::string& path, Names wanted) {
    const Names offer = cgroup::read_words(path + "/cgroup.controllers");
    std::erase_if(wanted, [&offer](const std::string& name) {
        return std::ranges::find(offer, name) == offer.end();
    });
    return wanted;
}

// Version 2 hands controllers down only from a cgroup without processes of its own.
Result<void> hand_down(const std::string& tree, const Names& wanted, const Processes& own) {
    const Names names = offered(parent_of(tree), wanted);
    Result<void> ready = change_controllers(parent_of(tree), '+', names);
    if (!ready && ready.error().sys_errno == EBUSY) {
        BJ_TRY_VOID(step_aside(tree, own));
        ready = change_controllers(parent_of(tree), '+', names);
    }
    return ready ? change_controllers(tree, '+', names) : ready;
}

// When processors are scarce the jars, however many, come after our own processes, which are beside
// the tree or in its leaf. A cgroup has 1024 shares or a weight of 100 unless told otherwise.
Result<void> put_jars_last(const std::string& tree) {
    const std::array<std::pair<std::string, std::string_view>, 3> weights{
        {{tree + "/cpu.shares", "128"},
         {tree + "/cpu.weight", "12"},
         {tree + kAside + "/cpu.weight", "10000"}}};
    for (const auto& [file, weight] : weights) {
        if (cgroup::has_control(file)) {
            BJ_TRY_VOID(cgroup::write_control(file, weight));
        }
    }
    return {};
}

// Whether cgroups can be made in it, and processes below it cloned into them.
bool may_change(const std::string& path) {
    return ::eaccess(path.c_str(), W_OK) == 0 &&
           ::eaccess((path + "/cgroup.procs").c_str(), W_OK) == 0;
}

// Makes a subtree whose jars will have the controllers, and gives its lock.
Result<Fd> make_tree(const std::string& tree, const cgroup::Hierarchy& hierarchy,
                     const Processes& own) {
    if (hierarchy.unified && !may_change(parent_of(tree))) {
        return fail(system_error("change cgroup"));
    }
    BJ_TRY(Fd lock, cgroup::make_cgroup(tree));
    // Another warden may have found it before it was locked, and removes it as stale.
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 ||
        !cgroup::has_control(tree + "/cgroup.procs")) {
        return fail(system_error("lock cgroup", ENOENT));
    }
    Result<void> ready =
        hierarchy.unified ? hand_down(tree, hierarchy.controllers, own) : Result<void>{};
    if (ready) {
        ready = put_jars_last(tree);
    }
    if (!ready) {
        remove_tree(tree);
        return fail(std::move(ready).error());
    }
    return lock;
}

// systemd ends a whole service when a jar in it runs out of memory, unless the service's cgroup was
// delegated to it.
bool is_kept_by_systemd(const std::string& path) {
    char mark = 0;
    return ::access("/run/systemd/system", F_OK) == 0 &&
           cgroup::has_control(path + "/memory.max") &&
           (::getxattr(path.c_str(), "trusted.delegate", &mark, 1) != 1 || mark != '1');
}

// Where a tree may be, the best first: in the own cgroup or, for version 2, in the highest that may
// be changed. That is the top for root, and the cgroup of their service manager for others.
Names places_for(const cgroup::Hierarchy& hierarchy) {
    const std::string& own = hierarchy.own_directory;
    std::string top = own;
    while (hierarchy.unified && top != hierarchy.mount_point && may_change(parent_of(top))) {
        top = parent_of(top);
    }
    if (top == own) {
        return {own};
    }
    const auto count = [&](const auto& path) {
        return offered(path, hierarchy.controllers).size();
    };
    return count(own) < count(top) || is_kept_by_systemd(own) ? Names{top} : Names{own, top};
}

// Every subtree of a warden, from the top down and not without end.
Names find_trees(const std::string& mount_point) {
    constexpr std::size_t kMostDirectories = 20'000;
    Names trees;
    Names others{mount_point};
    for (std::size_t index = 0; index < std::min(others.size(), kMostDirectories); ++index) {
        for (const std::string& child : children_of(others[index])) {
            (is_tree_name(child.substr(child.rfind('/') + 1)) ? trees : others).push_back(child);
        }
    }
    return trees;
}

// It is ours, and no living warden holds the lock.
bool is_stale(const Fd& tree) {
    struct stat status{};
    return ::fstat(tree.get(), &status) == 0 && status.st_uid == ::geteuid() &&
           ::flock(tree.get(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

CgroupTree CgroupTree::create(const std::vector<pid_t>& own_processes,
                              const std::vector<cgroup::Hierarchy>& layout) {
    CgroupTree tree;
    // A process is in version 2 from birth and joins the others itself.
    for (const bool unified : {true, false}) {
        for (const cgroup::Hierarchy& hierarchy : layout) {
            if (hierarchy.unified == unified) {
                tree.add(hierarchy, own_processes);
            }
        }
    }
    return tree;
}

void CgroupTree::add(const cgroup::Hierarchy& hierarchy, const std::vector<pid_t>& own_processes) {
    constexpr int kAttempts = 10;
    for (const std::string& place : places_for(hierarchy)) {
        std::string path;
        Result<Fd> lock = fail(system_error("lock cgroup", ENOENT));
        for (int attempt = 0; attempt < kAttempts && !lock && lock.error().sys_errno == ENOENT;
             ++attempt) {
            path = fmt::format("{}/{}{}", place, kTreePrefix, random_hex(kTreeDigits / 2));
            lock = make_tree(path, hierarchy, own_processes);
        }
        if (lock) {
            paths_.push_back(std::move(path));
            locks_.push_back(std::move(*lock));
            return;
        }
        problems_.push_back(fmt::format("{}: {}", place, lock.error().describe()));
    }
}

Result<void> CgroupTree::remove() {
    while (!paths_.empty()) {
        if (!remove_tree(paths_.back())) {
            return fail(system_error("remove cgroup tree", EBUSY));
        }
        paths_.pop_back();
    }
    locks_.clear();
    return {};
}

std::size_t remove_stale_cgroup_trees() {
    std::size_t removed = 0;
    for (const cgroup::Hierarchy& hierarchy : cgroup::read_layout()) {
        for (const std::string& path : find_trees(hierarchy.mount_point)) {
            const Result<Fd> tree = cgroup::open_control(path, O_RDONLY | O_DIRECTORY);
            removed += tree && is_stale(*tree) && remove_tree(path) ? 1U : 0U;
        }
    }
    return removed;
}

}  // namespace belljar::keeper
