#pragma once

#include "access/http_message.h"
#include "base/json.h"
#include "base/log.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "engine/executor.h"
#include "mcp/toolbox.h"

namespace belljar::mcp {

// Tools for clients that know nothing of MCP, in the words of the services they were written for:
//   POST /execute      {"tool", "arguments", "user"} -> {"success", "output", "tool"}
//   POST /pip_install  {"package", "version"} -> {"success", "message", ...}
// Borrows what it is given. On the I/O thread.
class ToolDoor {
   public:
    ToolDoor(engine::Executor& executor, const Log& log)
        : executor_(executor), toolbox_(executor), log_(log) {}

    // Whether a request at /execute names a tool, and not a program.
    [[nodiscard]] static bool names_tool(const access::HttpRequest& request);

    Task<access::HttpResponse> call_tool(access::HttpRequest request,
                                         engine::CancellationPtr cancellation);
    Task<access::HttpResponse> install_package(access::HttpRequest request,
                                               engine::CancellationPtr cancellation);

   private:
    Task<access::HttpResponse> execute_code(ToolCall call, engine::CancellationPtr cancellation);

    engine::Executor& executor_;
    Toolbox toolbox_;
    const Log& log_;
};

}  // namespace belljar::mcp
