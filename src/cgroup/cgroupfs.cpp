#include "cgroup/cgroupfs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <ranges>
#include <sstream>
#include <thread>

#include "execution/layer.h"

namespace belljar::cgroup {
namespace {

using execution::Layer;

constexpr Bytes kFileLimit = mebibytes(1);
constexpr std::array<std::string_view, 6> kVersionOne{"memory",  "pids",  "cpu",
                                                      "cpuacct", "blkio", "hugetlb"};
constexpr std::array<std::string_view, 8> kCounters{
    "cpu.stat",           "cpuacct.usage", "memory.peak", "memory.max_usage_in_bytes",
    "memory.oom_control", "memory.events", "pids.peak",   "pids.events"};

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (const auto part : std::views::split(text, separator)) {
        parts.emplace_back(part.begin(), part.end());
    }
    return parts;
}

bool is_blank(char letter) { return letter == ' ' || letter == '\n'; }

// Where the word ends that is `key`; the end of the text if there is none.
std::size_t find_after_word(std::string_view text, std::string_view key) {
    for (std::size_t begin = text.find(key); begin != std::string_view::npos;
         begin = text.find(key, begin + 1)) {
        const std::size_t end = begin + key.size();
        if ((begin == 0 || is_blank(text[begin - 1])) && end < text.size() && is_blank(text[end])) {
            return end;
        }
    }
    return text.size();
}

struct Setting {
    std::string_view file;
    std::uint64_t value;
    Layer layer{};
    bool only_makes_room = false;  // for what is written next, where there was a limit before
};

// In the order of writing.
std::vector<Setting> settings_for(const execution::Limits& limits) {
    const auto share = [&limits](double one_core, double lowest, double highest) {
        return static_cast<std::uint64_t>(std::clamp(limits.cpu * one_core, lowest, highest));
    };
    return {
        {"memory.max", limits.memory.count, Layer::MemoryLimit},
        {"memory.swap.max", 0},
        {"memory.oom.group", 1},
        // Memory and swap together, so nothing is left for swap; never below that for memory alone,
        // which may rise.
        {.file = "memory.memsw.limit_in_bytes", .value = ~0ULL, .only_makes_room = true},
        {"memory.limit_in_bytes", limits.memory.count, Layer::MemoryLimit},
        {"memory.memsw.limit_in_bytes", limits.memory.count},
        {"pids.max", limits.processes, Layer::ProcessLimit},
        {"cpu.weight", share(100, 1, 10000), Layer::CpuShare},
        {"cpu.shares", share(1024, 2, 262144), Layer::CpuShare},
        {"io.weight", share(100, 1, 10000)},
        {"io.bfq.weight", share(100, 1, 1000)},
        {"blkio.weight", share(500, 10, 1000)},
        {"blkio.bfq.weight", share(100, 1, 1000)},
        {"hugetlb.2MB.limit_in_bytes", 0},
        {"hugetlb.1GB.limit_in_bytes", 0},
        {"cgroup.max.descendants", 0},
    };
}

bool is_share(std::string_view file) {
    return file.ends_with(".shares") || file.ends_with("weight");
}

Result<void> apply(const Cgroup& cgroup, const Setting& setting) {
    const std::string value = std::to_string(setting.value);
    if (const auto file = cgroup.opened.find(setting.file); file != cgroup.opened.end()) {
        const bool written = ::pwrite(file->second.get(), value.data(), value.size(), 0) >= 0;
        return written ? Result<void>{} : fail(system_error("write a share"));
    }
    return cgroup.has(setting.file)
               ? write_control(fmt::format("{}/{}", cgroup.path, setting.file), value)
               : Result<void>{};
}

}  // namespace

std::vector<Hierarchy> find_layout(std::string_view membership, const std::string& root) {
    const auto is_cgroup = [](const std::string& path) {
        return has_control(path + "/cgroup.procs");
    };
    std::vector<Hierarchy> hierarchies;
    for (const std::string_view line : split(membership, '\n')) {
        // 2:cpu,cpuacct:/path or, for version 2, 0::/path; the path may hold colons.
        const auto fields = split(line, ':');
        if (fields.size() < 3) {
            continue;
        }
        const auto names = split(fields[1], ',');
        Hierarchy found{.unified = names.empty(), .mount_point = root};
        if (!found.unified || !is_cgroup(root)) {
            found.mount_point += "/" + std::string(found.unified ? "unified" : names.front());
        }
        const auto path = line.substr(fields[0].size() + fields[1].size() + 2);
        found.own_directory = found.mount_point + std::string(path == "/" ? "" : path);
        // A container may see only its part of the host's hierarchy, but its path from the top.
        if (!is_cgroup(found.own_directory)) {
            found.own_directory = found.mount_point;
        }
        const bool used =
            found.unified || std::ranges::find_first_of(names, kVersionOne) != names.end();
        if (used && is_cgroup(found.own_directory)) {
            hierarchies.push_back(std::move(found));
        }
    }
    return hierarchies;
}

std::vector<Hierarchy> read_layout() {
    const Result<std::string> membership = read_file("/proc/self/cgroup", kFileLimit);
    return find_layout(membership.value_or(""), "/sys/fs/cgroup");
}

bool has_control(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

Result<Fd> open_control(const std::string& path, int access) {
    Fd file(::open(path.c_str(), access | O_CLOEXEC));
    if (!file.valid()) {
        return fail(system_error("open " + path));
    }
    return file;
}

Result<void> write_control(const std::string& path, std::string_view value) {
    BJ_TRY(const Fd file, open_control(path, O_WRONLY));
    if (::write(file.get(), value.data(), value.size()) < 0) {
        return fail(system_error("write " + path));
    }
    return {};
}

std::vector<std::string> read_words(const std::string& path) {
    std::istringstream text(read_file(path, kFileLimit).value_or(""));
    return {std::istream_iterator<std::string>(text), {}};
}

std::uint64_t read_number(const std::string& path, std::string_view key) {
    return read_number(Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), key);
}

std::uint64_t read_number(const Fd& file, std::string_view key) {
    std::array<char, 4096> buffer{};
    const ssize_t length = ::pread(file.get(), buffer.data(), buffer.size() - 1, 0);
    const std::string_view text(buffer.data(), static_cast<std::size_t>(std::max(length, 0L)));
    const std::size_t place = key.empty() ? 0 : find_after_word(text, key);
    return place >= text.size() ? 0 : std::strtoull(text.data() + place, nullptr, 10);
}

bool Cgroup::has(std::string_view control) const {
    return std::ranges::find(controls, control) != controls.end();
}

std::uint64_t Cgroup::read(std::string_view control, std::string_view key) const {
    if (const auto file = opened.find(control); file != opened.end()) {
        return read_number(file->second, key);
    }
    return has(control) ? read_number(fmt::format("{}/{}", path, control), key) : 0;
}

void open_for_runs(Cgroup& cgroup) {
    const auto open = [&cgroup](std::string_view name, int access) {
        if (Result<Fd> file = open_control(fmt::format("{}/{}", cgroup.path, name), access)) {
            cgroup.opened.emplace(name, std::move(*file));
        }
    };
    for (const std::string& name : cgroup.controls) {
        if (std::ranges::find(kCounters, name) != kCounters.end()) {
            open(name, O_RDONLY);
        } else if (is_share(name)) {
            open(name, O_WRONLY);
        }
    }
    if (cgroup.has("pids.max")) {
        open("pids.current", O_RDONLY);
    }
}

Cgroup examine_cgroup(const std::string& path) {
    Cgroup found{.path = path, .controls = {kCounters.begin(), kCounters.end()}};
    for (const Setting& setting : settings_for({})) {
        found.controls.emplace_back(setting.file);
        const bool there = has_control(path + "/" + found.controls.back());
        found.layers |= there ? static_cast<std::uint32_t>(setting.layer) : 0U;
    }
    std::erase_if(found.controls,
                  [&path](const std::string& name) { return !has_control(path + "/" + name); });
    return found;
}

Result<void> apply_limits(const Cgroup& cgroup, const execution::Limits& limits, Limited before) {
    for (const Setting& setting : settings_for(limits)) {
        if (before == Limited::Already || !setting.only_makes_room) {
            BJ_TRY_VOID(apply(cgroup, setting));
        }
    }
    return {};
}

Result<void> forbid_huge_pages(const Cgroup& tree) {
    // What is only reserved counts apart from what is used, and is taken from the host all the
    // same.
    for (const char* file :
         {"hugetlb.2MB.max", "hugetlb.1GB.max", "hugetlb.2MB.rsvd.max", "hugetlb.1GB.rsvd.max",
          "hugetlb.2MB.rsvd.limit_in_bytes", "hugetlb.1GB.rsvd.limit_in_bytes"}) {
        const std::string path = fmt::format("{}/{}", tree.path, file);
        BJ_TRY_VOID(has_control(path) ? write_control(path, "0") : Result<void>{});
    }
    return {};
}

Result<void> apply_share(const Cgroup& cgroup, const execution::Limits& limits) {
    for (const Setting& setting : settings_for(limits)) {
        BJ_TRY_VOID(is_share(setting.file) ? apply(cgroup, setting) : Result<void>{});
    }
    return {};
}

// Version 2 counts the time even where version 1 has the controller.
Duration cpu_time_of(const Cgroup& cgroup) {
    return std::max<Duration>(std::chrono::nanoseconds(cgroup.read("cpuacct.usage")),
                              std::chrono::microseconds(cgroup.read("cpu.stat", "usage_usec")));
}

void add_usage(const Cgroup& cgroup, CgroupUsage& usage) {
    usage.cpu = std::max(usage.cpu, cpu_time_of(cgroup));
    usage.memory_peak_bytes +=
        cgroup.read("memory.peak") + cgroup.read("memory.max_usage_in_bytes");
    usage.out_of_memory_kills +=
        cgroup.read("memory.events", "oom_kill") + cgroup.read("memory.oom_control", "oom_kill");
    usage.processes_peak += cgroup.read("pids.peak");
    usage.process_limit_hits += cgroup.read("pids.events", "max");
}

bool disks_have_weights() {
    std::error_code none;
    for (const auto& disk : std::filesystem::directory_iterator("/sys/block", none)) {
        const Result<std::string> text = read_file(disk.path() / "queue/scheduler", kFileLimit);
        if (text.value_or("").contains("[bfq]")) {
            return true;
        }
    }
    return false;
}

std::vector<pid_t> list_processes(const std::string& path) {
    std::vector<pid_t> processes;
    for (const std::string& word : read_words(path + "/cgroup.procs")) {
        processes.push_back(std::atoi(word.c_str()));
    }
    return processes;
}

bool kill_processes(const std::string& path) {
    if (write_control(path + "/cgroup.kill", "1")) {
        return true;
    }
    const std::vector<pid_t> listed = list_processes(path);
    for (const pid_t process : listed) {
        if (process > 1 && process != ::getpid()) {
            ::kill(process, SIGKILL);
        }
    }
    return listed.empty();
}

Result<void> make_directory(const std::string& path) {
    return ::mkdir(path.c_str(), 0700) == 0 ? Result<void>{} : fail(system_error("mkdir cgroup"));
}

Result<Fd> make_cgroup(const std::string& path) {
    BJ_TRY_VOID(make_directory(path));
    return open_control(path, O_RDONLY | O_DIRECTORY);
}

bool becomes_true(const std::function<bool()>& condition, Duration patience) {
    const TimePoint deadline = Clock::now() + patience;
    while (!condition()) {
        if (Clock::now() > deadline) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

}  // namespace belljar::cgroup
