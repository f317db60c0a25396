#pragma once

#include "base/clock.h"
#include "engine/executor.h"
#include "mcp/provider.h"
#include "mcp/toolbox.h"

namespace belljar::mcp {

// Belljar's own tools. Borrows the executor.
class ToolProvider : public Provider {
   public:
    // To find out whether descriptions have changed takes longer than to give them: clients hear
    // of a new language this much later.
    static constexpr Duration kLookAgain = std::chrono::milliseconds(100);

    // Lists our own tools and those of the dialects named.
    explicit ToolProvider(engine::Executor& executor, std::vector<Dialect> dialects = {},
                          Duration look_again = kLookAgain)
        : executor_(executor),
          toolbox_(executor, std::move(dialects)),
          look_again_(look_again),
          listed_(executor.info()) {}

    [[nodiscard]] std::vector<ToolDefinition> tools() const override;
    [[nodiscard]] std::uint64_t tools_version() const override;
    [[nodiscard]] bool has_tool(std::string_view name) const override;
    [[nodiscard]] access::Rights tool_needs(std::string_view name,
                                            const json::object& arguments) const override;
    Task<RpcResult<Round<ToolOutcome>>> call_tool(ToolRequest request,
                                                  engine::CancellationPtr cancellation) override;

   private:
    engine::Executor& executor_;
    Toolbox toolbox_;
    Duration look_again_;
    // What descriptions tell of, as it was when it was last looked at.
    mutable engine::SandboxInfo listed_;
    mutable TimePoint good_until_{};
    mutable std::uint64_t version_ = 1;
};

}  // namespace belljar::mcp
