#include "attack_judges.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <csignal>

#include "base/json.h"
#include "engine/run_arguments.h"

namespace belljar::apps {
namespace {

using execution::RunResult;
using execution::Status;

// Room for a busy host; a clock that nobody watches is seconds late.
constexpr Duration kEarly = std::chrono::milliseconds(50);
constexpr Duration kLate = std::chrono::seconds(1);
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr std::uint64_t kFlat = gibibytes(1).count;  // the sanitizer keeps what was freed
#else
constexpr std::uint64_t kFlat = mebibytes(32).count;
#endif

bool lacks(const RunResult& result, std::string_view layer) {
    return std::ranges::find(result.isolation.missing, layer) != result.isolation.missing.end();
}

// What the guest reports under a name, as JSON text; "null" if nothing.
std::string reported(const RunResult& result, std::string_view name) {
    const Result<json::value> value = parse_json(result.result_json.value_or("null"));
    if (!value || !value->is_object() || !value->get_object().contains(name)) {
        return "null";
    }
    return to_text(value->get_object().at(name));
}

// The only run. A trial without one is never judged.
const RunResult& only_run(const Trial& trial) { return *trial.runs.front(); }

bool is_refused(json::object arguments) {
    arguments["code"] = "";
    const Result<execution::RunRequest> request = engine::parse_run_arguments(arguments);
    return !request && (request.error().code == ErrorCode::InvalidArgument ||
                        request.error().code == ErrorCode::Unsupported);
}

}  // namespace

std::string judge_posture(const Trial& trial) { return trial.posture; }

std::string judge_same_files(const Trial& trial) {
    const std::string first = reported(*trial.runs.at(0), "sha256");
    const std::string second = reported(*trial.runs.at(1), "sha256");
    if (first == "null" || first != second) {
        return fmt::format("the next jar sees other files: {} then {}", first, second);
    }
    return "";
}

std::string judge_foreign_abi(const Trial& trial) {
    const RunResult& run = only_run(trial);
    if (run.status == Status::Ok || run.signal == SIGSYS || run.signal == SIGSEGV) {
        return "";
    }
    return fmt::format("ended by signal {}", run.signal.value_or(0));
}

std::string judge_fresh_user(const Trial& trial) {
    if (trial.users.size() != 2) {
        return "its user could not be seen from outside";
    }
    if (!lacks(*trial.runs.at(0), "unique_user") && trial.users[0] == trial.users[1]) {
        return fmt::format("both jars had the host's user {}", trial.users[0]);
    }
    return "";
}

std::string judge_process_peak(const Trial& trial) {
    const RunResult& run = only_run(trial);
    if (run.usage.processes_peak > trial.limits.processes) {
        return fmt::format("{} processes, {} are allowed", run.usage.processes_peak,
                           trial.limits.processes);
    }
    return "";
}

std::string judge_bomb(const Trial& trial) {
    for (const Result<RunResult>& beside : trial.beside) {
        if (!beside || !beside->success()) {
            return fmt::format(
                "the program beside it ended with: {}",
                beside ? execution::name_of(beside->status) : beside.error().message);
        }
    }
    return judge_process_peak(trial);
}

std::string judge_deadline(const Trial& trial) {
    const Duration wall = only_run(trial).usage.wall;
    if (wall + kEarly < trial.limits.timeout || wall > trial.limits.timeout + kLate) {
        return fmt::format("ended after {:.3f} s, the limit is {:.3f} s", to_seconds(wall),
                           to_seconds(trial.limits.timeout));
    }
    return "";
}

std::string judge_flat_memory(const Trial& trial) {
    if (trial.memory_growth > kFlat) {
        return fmt::format("the server grew by {} bytes", trial.memory_growth);
    }
    return "";
}

std::string judge_strange_output(const Trial& trial) {
    const RunResult& run = only_run(trial);
    if (run.stdout_stream.text.size() > trial.limits.output.count + kibibytes(4).count) {
        return fmt::format("{} bytes were kept", run.stdout_stream.text.size());
    }
    return judge_flat_memory(trial);
}

std::string judge_no_result(const Trial& trial) {
    const RunResult& run = only_run(trial);
    if (run.exit_code != 0 || run.result_json) {
        return fmt::format("exit code {}, result {}", run.exit_code.value_or(-1),
                           run.result_json.value_or("none"));
    }
    return "";
}

std::string judge_returned_files(const Trial& trial) {
    for (const execution::ProducedFile& file : only_run(trial).files) {
        const bool leads_out = file.name.starts_with('/') ||
                               file.name.find("..") != std::string::npos ||
                               file.name.find('\0') != std::string::npos;
        if (leads_out || file.name.find("trap-") != std::string::npos) {
            return fmt::format("returned as a file: {}", file.name.substr(0, 80));
        }
    }
    return "";
}

std::string judge_conversation(const Trial& trial) {
    (void)trial;
    for (const char* place : {"../..", "..", "/etc", "a/../../b"}) {
        if (!is_refused({{"session_id", place}})) {
            return fmt::format("a request with session_id \"{}\" is accepted", place);
        }
        // Any text may name a conversation; what is made of it is a hash.
        for (const char* name : {"conversation_id", "conversationId"}) {
            const auto request = engine::parse_run_arguments({{"code", ""}, {name, place}});
            if (request && request->conversation_id != place) {
                return fmt::format("{} \"{}\" becomes another name", name, place);
            }
        }
    }
    return "";
}

std::string judge_upload(const Trial& trial) {
    for (const char* path : {"../../x", "/x", "a/../../x", "..", "a/./x", "a//x"}) {
        if (!is_refused({{"files", json::object{{path, "text"}}}})) {
            return fmt::format("a file named \"{}\" is accepted", path);
        }
    }
    for (const char* folder : {"/", "/tmp/", "../../", "../", ""}) {
        const std::string place = fmt::format("{}x-{}", folder, trial.token);
        if (::access(place.c_str(), F_OK) == 0) {
            return "the file was written outside of the jar";
        }
    }
    return "";
}

std::string judge_exit_code(const Trial& trial, int expected) {
    const RunResult& run = only_run(trial);
    if (run.exit_code != expected || run.signal) {
        return fmt::format("exit code {}, signal {}; it was exit code {}",
                           run.exit_code.value_or(-1), run.signal.value_or(0), expected);
    }
    return "";
}

}  // namespace belljar::apps
