#include "outcome/verdict.h"

#include <sys/wait.h>

#include <csignal>

#include "outcome/denials.h"

namespace belljar::outcome {
namespace {

using execution::KillReason;
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
    // A program that coped with a refused fork or a full disk went well.
    const Status status = status_of_exit(exit);
    if (status == Status::Ok) {
        return status;
    }
    if (exit.process_limit_hits > 0) {
        return Status::Processes;
    }
    return exit.disk_full ? Status::Disk : status;
}

}  // namespace

void judge(const RawExit& exit, const execution::Limits& limits, execution::RunResult& result) {
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
    result.denials = explain_denials(exit, limits, result);
}

}  // namespace belljar::outcome
