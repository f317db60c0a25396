#include "outcome/denials.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>

#include "base/utf8.h"
#include "outcome/refused_calls.h"

namespace belljar::outcome {
namespace {

using execution::Denial;
using execution::DenialSource;
using execution::GuestError;
using execution::KillReason;
using execution::Limits;
using execution::RawExit;
using execution::Status;

constexpr std::size_t kMostDenials = 16;
constexpr std::size_t kShownPath = 200;  // bytes

bool died_of(const RawExit& exit, int signal) {
    return exit.exited && WIFSIGNALED(exit.wait_status) && WTERMSIG(exit.wait_status) == signal;
}

// --- limits, by our own records and the kernel's counters

Denial explain_timeout(const Limits& limits) {
    return {.what = fmt::format("ran longer than {:g} seconds", to_seconds(limits.timeout)),
            .rule = "limits.timeout",
            .hint = "Make the program faster or ask for a longer timeout."};
}

Denial explain_memory(const Limits& limits) {
    return {.what = fmt::format("used more than {} of memory", format_bytes(limits.memory)),
            .rule = "limits.memory",
            .hint = "Work on less data at a time or ask for a higher memory_limit."};
}

Denial explain_processes(const Limits& limits) {
    return {.what = fmt::format("needed more than {} processes or threads", limits.processes),
            .rule = "limits.processes",
            .hint = "Use fewer processes or threads at a time."};
}

Denial explain_full_disk(const Limits& limits) {
    return {.what = fmt::format("filled the {} of its workspace or the {} of /tmp",
                                format_bytes(limits.workspace), format_bytes(limits.tmp)),
            .rule = "limits.workspace",
            .hint = "Write less, make fewer files, or delete what is not needed."};
}

Denial explain_large_file() {
    return {.what = "was ended by SIGXFSZ, the signal for a file that grows beyond its limit",
            .rule = "limits.workspace",
            .hint = "Write less, or write to several files."};
}

Denial explain_flood(const Limits& limits) {
    return {
        .what = fmt::format("wrote more than {} to one stream", format_bytes(limits.output_flood)),
        .rule = "limits.output_flood",
        .hint = "Print a summary instead, or write to a file in /workspace."};
}

struct Reached {
    Status status;  // what it makes of a run that it ends
    Denial denial;
};

std::vector<Denial> explain_limits(const RawExit& exit, const Limits& limits, Status status) {
    std::vector<Reached> reached;
    if (exit.kill_reason == KillReason::Deadline) {
        reached.push_back({Status::Timeout, explain_timeout(limits)});
    }
    if (exit.kill_reason == KillReason::Memory || exit.out_of_memory_kills > 0) {
        reached.push_back({Status::Memory, explain_memory(limits)});
    }
    if (exit.process_limit_hits > 0) {
        reached.push_back({Status::Processes, explain_processes(limits)});
    }
    if (died_of(exit, SIGXFSZ)) {
        reached.push_back({Status::Disk, explain_large_file()});
    } else if (exit.disk_full) {
        reached.push_back({Status::Disk, explain_full_disk(limits)});
    }
    if (exit.kill_reason == KillReason::Output) {
        reached.push_back({Status::Output, explain_flood(limits)});
    }
    const auto ending = std::ranges::find(reached, status, &Reached::status);
    if (ending != reached.end()) {
        std::rotate(reached.begin(), ending, ending + 1);
    }
    std::vector<Denial> denials;
    for (Reached& one : reached) {
        denials.push_back(std::move(one.denial));
    }
    return denials;
}

// --- the guest's own word

// One short line without control characters.
std::string clean(std::string_view guest_text) {
    std::string line;
    while (!guest_text.empty()) {
        const std::size_t length = utf8_character_length(guest_text);
        const std::string_view character = guest_text.substr(0, std::max<std::size_t>(length, 1));
        if (line.size() + character.size() > kShownPath) {
            return line + "...";
        }
        const auto first = static_cast<unsigned char>(character.front());
        line += length == 0 || first < ' ' || first == 0x7F ? "?" : character;
        guest_text.remove_prefix(character.size());
    }
    return line;
}

bool is_below(std::string_view path, std::string_view directory) {
    return path == directory ||
           (path.starts_with(directory) && path.substr(directory.size()).starts_with('/'));
}

Denial refuse_path(const std::string& path, std::string_view action, std::string_view rule) {
    constexpr std::string_view kHint =
        "Only /workspace, /tmp and /dev/shm can be written, and the program runs as an ordinary "
        "user.";
    return {.what = fmt::format("{} {}", action, path),
            .rule = std::string(rule),
            .hint = std::string(kHint)};
}

Denial refuse_space(const std::string& path) {
    const bool temporary = is_below(path, "/tmp") || is_below(path, "/dev/shm");
    return {
        .what = path.empty() ? "found no space left" : fmt::format("found no space for {}", path),
        .rule = temporary ? "limits.tmp" : "limits.workspace",
        .hint = "Write less, make fewer files, or delete what is not needed."};
}

Denial refuse_memory() {
    return {.what = "asked for more memory than there is",
            .rule = "limits.memory",
            .hint = "Work on less data at a time or ask for a higher memory_limit."};
}

Denial refuse_network(std::string_view what) {
    return {.what = std::string(what), .rule = "network.off", .hint = std::string(kNetworkHint)};
}

// Only what can be meant in one way; a path that does not exist is no denial.
std::optional<Denial> explain_error(const GuestError& error) {
    const int number = error.sys_errno.value_or(0);
    const std::string path = clean(error.path.value_or(""));
    if (number < 0) {  // an error of getaddrinfo
        return refuse_network("tried to look up the name of a host");
    }
    switch (number) {
        case ENETUNREACH:
        case ENETDOWN:
        case EHOSTUNREACH:
            return refuse_network("tried to reach the network");
        case ENOSPC:
        case EDQUOT:
            return refuse_space(path);
        case EFBIG:
            return Denial{.what = "tried to make a file larger than one may be",
                          .rule = "limits.workspace",
                          .hint = "Write less, or write to several files."};
        case EMFILE:
        case ENFILE:
            return Denial{.what = "had too many files open at once",
                          .rule = "limits.open_files",
                          .hint = "Close files and sockets that are no longer needed."};
        case ENOMEM:
            return refuse_memory();
        default:
            break;
    }
    if (error.type == "MemoryError") {
        return refuse_memory();
    }
    if (path.empty()) {
        return std::nullopt;
    }
    switch (number) {
        case EROFS:
            return refuse_path(path, "tried to write", "files.read_only");
        case EACCES:
        case EPERM:
            return refuse_path(path, "was refused", "files.permission");
        default:
            return std::nullopt;
    }
}

Denial refuse_import(const std::string& module) {
    return {.what = fmt::format("tried to import '{}'", clean(module)),
            .rule = "policy.import",
            .hint =
                "Use the modules that allowed_imports and the profile allow; get_sandbox_info "
                "lists those of each profile.",
            .source = DenialSource::Guest};
}

Denial explain_bad_call() {
    return {
        .what = "was ended by SIGSYS, the signal for a system call that no program may make",
        .rule = "seccomp.kill",
        .hint = "Use ordinary 64-bit system calls: those of 32-bit and x32 programs are closed.",
        .source = DenialSource::Kernel};
}

}  // namespace

std::vector<Denial> explain_denials(const RawExit& exit, const Limits& limits,
                                    const execution::RunResult& result) {
    std::vector<Denial> denials = explain_limits(exit, limits, result.status);
    if (died_of(exit, SIGSYS)) {
        denials.push_back(explain_bad_call());
    }
    std::ranges::move(explain_refused_calls(exit.denied), std::back_inserter(denials));
    if (std::optional<Denial> told = result.error ? explain_error(*result.error) : std::nullopt) {
        told->source = DenialSource::Guest;
        const bool known = std::ranges::find(denials, told->rule, &Denial::rule) != denials.end();
        if (!known) {
            denials.push_back(std::move(*told));
        }
    }
    for (const std::string& module : result.refused_imports) {
        denials.push_back(refuse_import(module));
    }
    denials.resize(std::min(denials.size(), kMostDenials));
    return denials;
}

}  // namespace belljar::outcome
