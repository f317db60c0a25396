#include "outcome/verdict.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <csignal>

namespace belljar::outcome {
namespace {

using execution::KillReason;
using execution::Limits;
using execution::RawExit;
using execution::Status;

Status status_of_exit(const RawExit& exit) {
    if (!exit.exited) {
        return Status::Killed;
    }
    if (WIFSIGNALED(exit.wait_status)) {
        switch (WTERMSIG(exit.wait_status)) {
            case SIGSYS:
                return Status::Denied;
            case SIGXFSZ:
                return Status::Disk;
            default:
                return Status::Killed;
        }
    }
    return WEXITSTATUS(exit.wait_status) == 0 ? Status::Ok : Status::Error;
}

Status status_of(const RawExit& exit) {
    switch (exit.kill_reason) {
        case KillReason::Deadline:
            return Status::Timeout;
        case KillReason::Memory:
            return Status::Memory;
        case KillReason::Output:
            return Status::Output;
        case KillReason::Cancelled:
        case KillReason::ServerGone:
            return Status::Cancelled;
        case KillReason::None:
            break;
    }
    if (exit.out_of_memory_kills > 0) {
        return Status::Memory;
    }
    const Status status = status_of_exit(exit);
    const bool fork_failed = exit.process_limit_hits > 0 && status != Status::Ok;
    return fork_failed ? Status::Processes : status;
}

void explain(Status status, const Limits& limits, execution::RunResult& result) {
    switch (status) {
        case Status::Timeout:
            result.denials.push_back(
                {.what = fmt::format("ran longer than {:g} seconds", to_seconds(limits.timeout)),
                 .rule = "limits.timeout",
                 .hint = "Make the program faster or ask for a longer timeout."});
            return;
        case Status::Memory:
            result.denials.push_back(
                {.what = fmt::format("used more than {} of memory", format_bytes(limits.memory)),
                 .rule = "limits.memory",
                 .hint = "Work on less data at a time or ask for a higher memory_limit."});
            return;
        case Status::Processes:
            result.denials.push_back(
                {.what = fmt::format("needed more than {} processes or threads", limits.processes),
                 .rule = "limits.processes",
                 .hint = "Use fewer processes or threads at a time."});
            return;
        case Status::Output:
            result.denials.push_back(
                {.what = fmt::format("wrote more than {} to one stream",
                                     format_bytes(limits.output_flood)),
                 .rule = "limits.output_flood",
                 .hint = "Print a summary instead, or write to a file in /workspace."});
            return;
        case Status::Disk:
            result.denials.push_back({.what = fmt::format("wrote a file of more than {}",
                                                          format_bytes(limits.workspace)),
                                      .rule = "limits.workspace",
                                      .hint = "Write less, or delete what is not needed."});
            return;
        default:
            return;
    }
}

}  // namespace

void judge(const RawExit& exit, const Limits& limits, execution::RunResult& result) {
    result.status = status_of(exit);
    if (exit.exited && WIFEXITED(exit.wait_status)) {
        result.exit_code = WEXITSTATUS(exit.wait_status);
    } else if (exit.exited && WIFSIGNALED(exit.wait_status)) {
        result.signal = WTERMSIG(exit.wait_status);
    } else {
        result.signal = SIGKILL;
    }
    result.usage = {.wall = exit.wall,
                    .cpu = exit.cpu,
                    .memory_peak_bytes = exit.memory_peak_bytes,
                    .disk_written_bytes = exit.disk_used_bytes,
                    .processes_peak = exit.processes_peak};
    explain(result.status, limits, result);
}

}  // namespace belljar::outcome
