#pragma once

#include "engine/executor.h"
#include "mcp/provider.h"
#include "mcp/toolbox.h"

namespace belljar::mcp {

// Belljar's own tools. Borrows the executor.
class ToolProvider : public Provider {
   public:
    // Lists our own tools and those of the dialects named.
    explicit ToolProvider(engine::Executor& executor, std::vector<Dialect> dialects = {})
        : executor_(executor), toolbox_(executor, std::move(dialects)), listed_(executor.info()) {}

    [[nodiscard]] std::vector<ToolDefinition> tools() const override;
    [[nodiscard]] std::uint64_t tools_version() const override;
    [[nodiscard]] bool has_tool(std::string_view name) const override;
    [[nodiscard]] access::Rights tool_needs(std::string_view name) const override;
    Task<RpcResult<Round<ToolOutcome>>> call_tool(ToolRequest request,
                                                  engine::CancellationPtr cancellation) override;

   private:
    engine::Executor& executor_;
    Toolbox toolbox_;
    // What descriptions tell of, as it was when it was last looked at.
    mutable engine::SandboxInfo listed_;
    mutable std::uint64_t version_ = 1;
};

}  // namespace belljar::mcp
