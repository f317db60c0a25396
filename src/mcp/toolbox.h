#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "access/rights.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "engine/executor.h"
#include "mcp/answer.h"
#include "mcp/json_rpc.h"
#include "mcp/tool.h"

namespace belljar::mcp {

// The tools and what calling them does; tool_table.cpp names them all. Borrows the executor; used
// on the I/O thread only.
class Toolbox {
   public:
    // Lists our own tools and those of the dialects named.
    explicit Toolbox(engine::Executor& executor, std::vector<Dialect> dialects = {})
        : executor_(executor), dialects_(std::move(dialects)) {}

    [[nodiscard]] ToolList list() const;

    // What a caller of the tool must be allowed to do; nothing if there is no such tool.
    [[nodiscard]] static std::optional<Need> need_of(std::string_view name);
    // The same in rights, for a call with these arguments.
    [[nodiscard]] static access::Rights rights_of(std::string_view name,
                                                  const json::object& arguments = {});

    // Whatever the tool or its arguments did wrong is a failed ToolOutcome, for the model to read.
    // An error is for the client: there is no such tool, or Belljar itself is at fault.
    Task<RpcResult<ToolOutcome>> call(ToolCall call, engine::CancellationPtr cancellation);

   private:
    [[nodiscard]] bool lists(const Tool& tool) const;
    [[nodiscard]] RpcError unknown_tool(std::string_view name) const;

    engine::Executor& executor_;
    std::vector<Dialect> dialects_;
};

}  // namespace belljar::mcp
