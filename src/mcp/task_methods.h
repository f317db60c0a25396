#pragma once

#include "mcp/call.h"
#include "mcp/tasks.h"

namespace belljar::mcp {

inline constexpr std::string_view kTasksExtension = "io.modelcontextprotocol/tasks";

// Whether the client declares the extension in this request.
[[nodiscard]] bool knows_tasks(const json::object& capabilities);
[[nodiscard]] RpcError tasks_not_declared();

// All that is known of a task, as tasks/get and notifications/tasks tell it.
[[nodiscard]] json::object describe_fully(const BackgroundTask& task, Revision revision,
                                          const Identity& identity);

// tasks/get, tasks/update and tasks/cancel. Borrows what it is given.
class TaskMethods {
   public:
    TaskMethods(const Identity& identity, Tasks& tasks) : identity_(identity), tasks_(tasks) {}

    Task<RpcResult<std::string>> get(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> update(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> cancel(Call call, engine::CancellationPtr cancellation);

   private:
    [[nodiscard]] RpcResult<BackgroundTaskPtr> find(const Call& call);

    const Identity& identity_;
    Tasks& tasks_;
};

}  // namespace belljar::mcp
