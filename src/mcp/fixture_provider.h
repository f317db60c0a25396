#pragma once

#include <map>
#include <string>

#include "mcp/fixture_tools.h"
#include "mcp/provider.h"

namespace belljar::mcp {

// What the conformance suite of the protocol calls: tools, resources, prompts and a skill without
// any use, on the same machinery as those of Belljar. Only on request, and on loopback.
class FixtureProvider : public Provider {
   public:
    // Borrows the changes.
    explicit FixtureProvider(Changes& changes);

    [[nodiscard]] bool changes_lists() const override { return true; }

    [[nodiscard]] std::vector<ToolDefinition> tools() const override;
    [[nodiscard]] bool has_tool(std::string_view name) const override;
    Task<RpcResult<Round<ToolOutcome>>> call_tool(ToolRequest request,
                                                  engine::CancellationPtr cancellation) override;

    Task<std::vector<ResourceDefinition>> resources(Asker asker) override;
    [[nodiscard]] std::vector<ResourceTemplate> templates() const override;
    [[nodiscard]] bool owns_resource(std::string_view uri) const override;
    Task<RpcResult<Round<ResourceContents>>> read_resource(
        ResourceRequest request, engine::CancellationPtr cancellation) override;

    [[nodiscard]] std::vector<PromptDefinition> prompts() const override;
    [[nodiscard]] bool has_prompt(std::string_view name) const override;
    Task<RpcResult<Round<PromptOutcome>>> get_prompt(PromptRequest request,
                                                     engine::CancellationPtr cancellation) override;
    Task<std::optional<Completion>> complete(CompletionRequest request) override;

    [[nodiscard]] std::vector<Skill> skills() const override;

   private:
    std::vector<FixtureTool> tools_;
};

}  // namespace belljar::mcp
