#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "execution/result.h"
#include "mcp/tool.h"

namespace belljar::mcp {

// A program of our own that is run in a jar like any other, because what it reads is not ours. It
// gets its input as JSON on standard input; its value is the answer.
struct Script {
    std::string program{};  // its name below guest/
    // A comment ahead of it: what it brings along, because approvals are for a program's text.
    std::string heading{};
    // Caller for one that runs what its caller wrote: it is then that one's program.
    execution::Author author = execution::Author::Belljar;
    std::string language = "python";
    json::value input{};
    std::map<std::string, std::string> files{};
    std::optional<std::string> conversation_id{};
    std::optional<Duration> timeout{};
};

struct ScriptEnd {
    execution::RunResult run{};
    // As hostile as what the program has read; nothing if it did not come to its end, or if its
    // answer was too large.
    std::optional<json::value> value{};
};

// In the name of whoever calls the tool: under the profile of the call, and recorded as its run.
Task<Result<ScriptEnd>> run_script(ToolContext context, ToolCall call, Script script,
                                   engine::CancellationPtr cancellation);

}  // namespace belljar::mcp
