#pragma once

#include <boost/json/object.hpp>
#include <optional>
#include <string_view>

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
    json::object message{};
    std::optional<RpcCode> error{};
};

// Every method of every revision, whatever the transport. Used on the I/O thread only.
class Dispatcher {
   public:
    Dispatcher(engine::Executor& executor, Identity identity);

    // Answers a request. Notifications are the transport's business: none of them is answered.
    Task<Reply> answer(Call call, engine::CancellationPtr cancellation);

   private:
    using Method = Task<RpcResult<Answer>> (Dispatcher::*)(Call, engine::CancellationPtr);
    struct Entry {
        std::string_view name;
        std::optional<Era> era;  // none: both
        Method method;
    };
    static const Entry* find(std::string_view name, Era era);

    Task<RpcResult<Answer>> run(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<Answer>> discover(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<Answer>> initialize(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<Answer>> ping(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<Answer>> list_tools(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<Answer>> call_tool(Call call, engine::CancellationPtr cancellation);

    Identity identity_;
    Toolbox toolbox_;
};

}  // namespace belljar::mcp
