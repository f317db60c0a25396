#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/run_origin.h"
#include "access/trace_context.h"
#include "base/result.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "engine/executor.h"
#include "mcp/answer.h"
#include "mcp/notice_wishes.h"

namespace belljar::mcp {

// What a caller must be allowed to do before a tool is called for it.
enum class Need {
    Run,
    RunOrCell,  // of a session, if the arguments ask for one
    Inspect,
    FilesRead,
    FilesWrite,
    Sessions,
    Packages
};

// Whose words a tool speaks. Our own tools are listed to everybody, those of a dialect if the
// operator names it; all of them can be called.
enum class Dialect { Own, SandboxService, CodeRunner, LogAnalysis };

// By the names that the setting tools.dialects has for them; others are left out.
[[nodiscard]] std::vector<Dialect> parse_dialects(const std::vector<std::string>& names);

struct ToolCall {
    std::string name{};
    json::object arguments{};
    std::string principal{};                      // who calls
    std::optional<std::string> approved_by{};     // a person has agreed to the program
    std::optional<access::TraceContext> trace{};  // and in which trace
    access::Origin origin{};
    NoticeWishes wishes{};
    Notify notify{};  // empty: nothing can be told before the end
};

// Writes into a run that it came by MCP, and in which trace.
inline void mark(execution::RunRequest& run, const std::optional<access::TraceContext>& trace) {
    run.protocol = execution::Protocol::Mcp;
    access::set_trace(run, trace);
}

// The same with the tool, and where the call comes from.
inline void mark(execution::RunRequest& run, const ToolCall& call) {
    mark(run, call.trace);
    run.tool = call.name;
    run.client = call.origin.client;
    run.address = call.origin.address;
    run.tool_sets = call.origin.tool_sets;
}

// What tools work with; outlives every call.
struct ToolContext {
    engine::Executor* executor = nullptr;
};

// A failed ToolOutcome or an Error that is not our own fault is for the model to read.
using ToolFunction = Task<Result<ToolOutcome>> (*)(ToolContext context, ToolCall call,
                                                   engine::CancellationPtr cancellation);

// Who looks at the arguments: the tool itself, or its input schema before it is called.
enum class Checked { ByTool, BySchema };

struct Tool {
    std::string_view name;
    Dialect dialect;
    Need need;
    Checked checked;
    ToolDefinition (*define)(const engine::SandboxInfo& info);
    ToolFunction call;
};

}  // namespace belljar::mcp
