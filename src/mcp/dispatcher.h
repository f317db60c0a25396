#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "engine/cancellation.h"
#include "engine/executor.h"
#include "mcp/answer.h"
#include "mcp/call.h"
#include "mcp/json_rpc.h"
#include "mcp/toolbox.h"

namespace belljar::mcp {

// A JSON-RPC answer ready to be sent; `error` repeats its error code for transports with a status.
struct Reply {
    std::string text{};
    std::optional<RpcCode> error{};
};

// Every method of every revision, whatever the transport. Used on the I/O thread only.
class Dispatcher {
   public:
    Dispatcher(engine::Executor& executor, Identity identity, std::vector<Dialect> dialects = {});

    // Answers a request. Notifications are the transport's business: none of them is answered.
    Task<Reply> answer(Call call, engine::CancellationPtr cancellation);

   private:
    // Gives the `result` member, as JSON.
    using Method = Task<RpcResult<std::string>> (Dispatcher::*)(Call, engine::CancellationPtr);
    struct Entry {
        std::string_view name;
        std::optional<Era> era;  // none: both
        Method method;
    };
    static const Entry* find(std::string_view name, Era era);

    Task<RpcResult<std::string>> run(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> discover(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> initialize(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> ping(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> set_log_level(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> list_tools(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> call_tool(Call call, engine::CancellationPtr cancellation);

    [[nodiscard]] std::string encoded(const Answer& answer, Revision revision) const;

    engine::Executor& executor_;
    Identity identity_;
    Toolbox toolbox_;
    // Answers to tools/list, which are long and rarely change: those that tell of this sandbox.
    engine::SandboxInfo listed_;
    std::map<Revision, std::string> tool_lists_;
};

}  // namespace belljar::mcp
