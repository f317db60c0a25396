#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "base/task.h"
#include "engine/cancellation.h"
#include "engine/executor.h"
#include "mcp/answer.h"
#include "mcp/json_rpc.h"
#include "mcp/notice_wishes.h"

namespace belljar::mcp {

struct ToolCall {
    std::string name{};
    json::object arguments{};
    std::string principal{};  // who calls
    NoticeWishes wishes{};
    Notify notify{};  // empty: nothing can be told before the end
};

// The tools and what calling them does. Borrows the executor; used on the I/O thread only.
class Toolbox {
   public:
    explicit Toolbox(engine::Executor& executor) : executor_(executor) {}

    [[nodiscard]] static bool has(std::string_view name) { return find(name) != nullptr; }
    [[nodiscard]] ToolList list() const;

    // Whatever the tool or its arguments did wrong is a failed ToolOutcome, for the model to read.
    // An error is for the client: there is no such tool, or Belljar itself is at fault.
    Task<RpcResult<ToolOutcome>> call(ToolCall call, engine::CancellationPtr cancellation);

   private:
    using Function = Task<Result<ToolOutcome>> (Toolbox::*)(ToolCall, engine::CancellationPtr);
    struct Entry {
        std::string_view name;
        Function function;
    };
    static const Entry* find(std::string_view name);

    Task<Result<ToolOutcome>> execute_code(ToolCall call, engine::CancellationPtr cancellation);
    Task<Result<ToolOutcome>> execute_batch(ToolCall call, engine::CancellationPtr cancellation);
    Task<Result<ToolOutcome>> manage_session(ToolCall call, engine::CancellationPtr cancellation);
    Task<Result<ToolOutcome>> list_runners(ToolCall call, engine::CancellationPtr cancellation);
    Task<Result<ToolOutcome>> get_sandbox_info(ToolCall call, engine::CancellationPtr cancellation);

    engine::Executor& executor_;
};

}  // namespace belljar::mcp
