#include "cgroup/jar_cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace belljar::cgroup {
namespace {

constexpr const char* kOutOfMemory = "memory.oom_control";

// Readable when memory has run out in the cgroup or above it.
Result<Fd> watch_memory(const Cgroup& cgroup) {
    Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    const auto control = cgroup.opened.find(kOutOfMemory);
    if (!event.valid()) {
        return fail(system_error("eventfd"));
    }
    if (control == cgroup.opened.end()) {
        return fail(system_error("open memory.oom_control", ENOENT));
    }
    const std::string order = fmt::format("{} {}", event.get(), control->second.get());
    BJ_TRY_VOID(write_control(cgroup.path + "/cgroup.event_control", order));
    return event;
}

bool is_unified(const Cgroup& tree) { return tree.has("cgroup.max.descendants"); }

// Who may write this file may bring processes into the cgroup and, above it, let them leave.
Result<void> give_processes(const std::string& path, uid_t user) {
    if (::chown((path + "/cgroup.procs").c_str(), user, static_cast<gid_t>(-1)) != 0) {
        return fail(system_error("chown cgroup.procs"));
    }
    return {};
}

// Version 1 has a group for each controller, and each costs a jar as much as any other: none is
// made for what another counts as well, or what the host does not use.
void leave_out_idle_controls(std::vector<Cgroup>& trees) {
    const bool time_is_counted = std::ranges::any_of(
        trees, [](const Cgroup& tree) { return is_unified(tree) && tree.has("cpu.stat"); });
    const bool weights = disks_have_weights();
    for (Cgroup& tree : trees) {
        const bool one = !is_unified(tree);
        std::erase_if(tree.controls, [&](const std::string& name) {
            return one && (name == "cpu.stat" || (name == "cpuacct.usage" && time_is_counted) ||
                           (name.starts_with("blkio.") && !weights));
        });
    }
}

}  // namespace

JarCgroup::~JarCgroup() {
    // What cannot be removed now is removed with the whole tree.
    (void)remove();
}

bool JarCgroup::out_of_memory() const {
    // The event comes before the kill that is counted. In between the jar is full.
    constexpr std::uint64_t kNearly = 1U << 20U;
    std::uint64_t events = 0;
    const bool told = ::read(oom_event_.get(), &events, sizeof(events)) > 0;
    return told && std::ranges::any_of(cgroups_, [](const Cgroup& cgroup) {
               const std::string memory = cgroup.path + "/memory.";
               const std::uint64_t used = std::max(read_number(memory + "usage_in_bytes"),
                                                   read_number(memory + "memsw.usage_in_bytes"));
               return cgroup.has("memory.limit_in_bytes") &&
                      (used + kNearly > read_number(memory + "limit_in_bytes") ||
                       read_number(memory + "oom_control", "oom_kill") > 0);
           });
}

Result<void> JarCgroup::add_members_file(std::vector<Fd>& files) const {
    const auto unified = std::ranges::find_if(cgroups_, is_unified);
    if (unified != cgroups_.end()) {
        BJ_TRY(Fd members, open_control(unified->path + "/cgroup.procs", O_WRONLY));
        files.push_back(std::move(members));
    }
    return {};
}

Result<void> JarCgroup::change(Bytes memory, double cpu) {
    const bool other_memory = memory != std::exchange(limits_.memory, memory);
    const bool other_cpu = cpu != std::exchange(limits_.cpu, cpu);
    for (const Cgroup& cgroup : cgroups_) {
        const bool holds_memory = cgroup.has("memory.limit_in_bytes") || cgroup.has("memory.max");
        if (holds_memory && other_memory) {
            BJ_TRY_VOID(apply_limits(cgroup, limits_, Limited::Already));
        } else if (other_cpu) {
            BJ_TRY_VOID(apply_share(cgroup, limits_));
        }
    }
    return {};
}

void JarCgroup::begin_cell() const {
    for (const Cgroup& cgroup : cgroups_) {
        if (cgroup.has("memory.oom.group")) {
            [[maybe_unused]] const auto one = write_control(cgroup.path + "/memory.oom.group", "0");
        }
        if (cgroup.has("memory.max_usage_in_bytes")) {
            [[maybe_unused]] const auto forgotten =
                write_control(cgroup.path + "/memory.max_usage_in_bytes", "0");
        }
    }
}

bool JarCgroup::populated() const {
    return std::ranges::any_of(cgroups_, [](const Cgroup& cgroup) {
        return read_number(cgroup.path + "/cgroup.events", "populated") != 0 ||
               !list_processes(cgroup.path).empty();
    });
}

Result<void> JarCgroup::kill() const {
    const auto ended = [this] { return cgroups_.empty() || kill_processes(cgroups_.front().path); };
    if (!becomes_true(ended, std::chrono::milliseconds(500))) {
        return fail(system_error("kill cgroup", EBUSY));
    }
    return {};
}

CgroupUsage JarCgroup::usage() const {
    CgroupUsage usage;
    for (const Cgroup& cgroup : cgroups_) {
        add_usage(cgroup, usage);
    }
    return usage;
}

bool JarCgroup::counts_cpu_time() const {
    return std::ranges::any_of(cgroups_, [](const Cgroup& cgroup) {
        return cgroup.has("cpuacct.usage") || cgroup.has("cpu.stat");
    });
}

Duration JarCgroup::cpu_time() const {
    Duration time{};
    for (const Cgroup& cgroup : cgroups_) {
        time = std::max(time, cpu_time_of(cgroup));
    }
    return time;
}

std::optional<std::uint64_t> JarCgroup::processes() const {
    for (const Cgroup& cgroup : cgroups_) {
        if (cgroup.has("pids.max")) {
            return cgroup.opened.contains("pids.current")
                       ? cgroup.read("pids.current")
                       : read_number(cgroup.path + "/pids.current");
        }
    }
    return std::nullopt;
}

Result<void> JarCgroup::remove() {
    tasks_.clear();
    unified_.reset();
    oom_event_.reset();
    while (!cgroups_.empty()) {
        if (::rmdir(cgroups_.back().path.c_str()) != 0 && errno != ENOENT) {
            return fail(system_error("rmdir cgroup"));
        }
        cgroups_.pop_back();
    }
    return {};
}

JarCgroups::JarCgroups(const std::vector<std::string>& trees) {
    for (const std::string& tree : trees) {
        trees_.push_back(examine_cgroup(tree));
        layers_ |= trees_.back().layers;
    }
    leave_out_idle_controls(trees_);
    for (const Cgroup& tree : trees_) {
        if (prepared_) {
            prepared_ = forbid_huge_pages(tree);
        }
    }
}

Result<Fd> JarCgroups::make_nursery(uid_t user) {
    const auto tree = std::ranges::find_if(trees_, is_unified);
    if (tree == trees_.end()) {
        return Fd();
    }
    BJ_TRY_VOID(give_processes(tree->path, user));
    nursery_user_ = user;
    return make_cgroup(tree->path + "/nursery");
}

Result<JarCgroup> JarCgroups::make(std::uint64_t jar, const execution::Limits& limits) const {
    BJ_TRY_VOID(prepared_);
    JarCgroup made;
    made.limits_ = limits;
    for (const Cgroup& tree : trees_) {
        if (tree.controls.empty()) {
            continue;  // a jar would have nothing of it
        }
        const std::string path = fmt::format("{}/jar-{}", tree.path, jar);
        BJ_TRY_VOID(make_directory(path));
        made.cgroups_.push_back({.path = path, .controls = tree.controls});
        Cgroup& cgroup = made.cgroups_.back();
        open_for_runs(cgroup);
        BJ_TRY_VOID(apply_limits(cgroup, limits, Limited::NotYet));
        if (is_unified(tree)) {
            BJ_TRY_VOID(nursery_user_ ? give_processes(path, *nursery_user_) : Result<void>{});
            BJ_TRY(made.unified_, open_control(path, O_RDONLY | O_DIRECTORY));
            continue;
        }
        BJ_TRY(Fd tasks, open_control(path + "/tasks", O_WRONLY));
        made.tasks_.push_back(std::move(tasks));
        if (cgroup.has(kOutOfMemory)) {
            BJ_TRY(made.oom_event_, watch_memory(cgroup));
        }
    }
    return made;
}

}  // namespace belljar::cgroup
