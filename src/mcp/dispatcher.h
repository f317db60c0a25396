#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "mcp/answer.h"
#include "mcp/call.h"
#include "mcp/changes.h"
#include "mcp/json_rpc.h"
#include "mcp/listen.h"
#include "mcp/prompt_methods.h"
#include "mcp/provider.h"
#include "mcp/resource_methods.h"
#include "mcp/rounds.h"
#include "mcp/skill_methods.h"
#include "mcp/task_methods.h"
#include "mcp/tasks.h"
#include "mcp/tool_methods.h"

namespace belljar::mcp {

// A JSON-RPC answer ready to be sent; `error` repeats its error code for transports with a status.
struct Reply {
    std::string begin{};
    std::shared_ptr<const std::string> rest{};  // of a long one that is shared; nullptr: no more
    std::optional<RpcCode> error{};
};

// All of it, for transports that send it in one piece.
[[nodiscard]] std::string text_of(Reply reply);

// Every method of every revision, whatever the transport. Borrows all it is given;
// used on the I/O thread only.
class Dispatcher {
   public:
    Dispatcher(Identity identity, Providers providers, Changes& changes, Tasks& tasks,
               const Log& log);
    Dispatcher(const Dispatcher&) = delete;
    Dispatcher& operator=(const Dispatcher&) = delete;

    // Answers a request, whatever becomes of it: what a method throws is our fault and ends here.
    // Notifications are the transport's business: none of them is answered.
    Task<Reply> answer(Call call, engine::CancellationPtr cancellation);

    [[nodiscard]] ToolMethods& tools() { return tools_; }

   private:
    // Gives the `result` member, as JSON.
    using Method = std::function<Task<RpcResult<std::string>>(Call call, engine::CancellationPtr)>;
    // Gives all that follows the id, which is kept; waits for nothing.
    using KeptMethod = std::function<RpcResult<std::shared_ptr<const std::string>>(const Call&)>;
    struct Entry {
        std::optional<Era> era{};  // none: both
        Method method{};
        KeptMethod kept{};  // in place of the other
    };
    void add_methods();
    Task<Reply> carry_out(Call call, engine::CancellationPtr cancellation);
    [[nodiscard]] const Entry* find(std::string_view name, Era era) const;

    Task<RpcResult<std::string>> discover(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> initialize(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> ping(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> set_log_level(Call call, engine::CancellationPtr cancellation);
    [[nodiscard]] Offers offers() const;

    Identity identity_;
    Providers providers_;
    const Log& log_;
    Rounds rounds_;
    ToolMethods tools_;
    ResourceMethods resources_;
    PromptMethods prompts_;
    SkillMethods skills_;
    TaskMethods tasks_;
    ListenMethod listen_;
    std::map<std::string_view, Entry> methods_;
};

}  // namespace belljar::mcp
