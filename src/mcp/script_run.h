#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "engine/executor.h"
#include "execution/result.h"

namespace belljar::mcp {

// A program of our own that is run in a jar like any other, because what it reads is not ours. It
// gets its input as JSON on standard input; its value is the answer.
struct Script {
    std::string program{};  // its name below guest/
    std::string language = "python";
    json::value input{};
    std::map<std::string, std::string> files{};
    std::string principal{};
    std::optional<std::string> conversation_id{};
    std::optional<Duration> timeout{};
};

struct ScriptEnd {
    execution::RunResult run{};
    // As hostile as what the program has read; nothing if it did not come to its end, or if its
    // answer was too large.
    std::optional<json::value> value{};
};

Task<Result<ScriptEnd>> run_script(engine::Executor* executor, Script script,
                                   engine::CancellationPtr cancellation);

}  // namespace belljar::mcp
