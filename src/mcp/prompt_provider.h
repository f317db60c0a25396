#pragma once

#include "engine/executor.h"
#include "mcp/provider.h"

namespace belljar::mcp {

// Beginnings of work that people often want done here. Borrows the executor.
class PromptProvider : public Provider {
   public:
    // A file that is not larger stands in the prompt itself.
    static constexpr std::uint64_t kMostEmbedded = std::uint64_t{32} * 1024;

    explicit PromptProvider(engine::Executor& executor) : executor_(executor) {}

    [[nodiscard]] std::vector<PromptDefinition> prompts() const override;
    [[nodiscard]] bool has_prompt(std::string_view name) const override;
    Task<RpcResult<Round<PromptOutcome>>> get_prompt(PromptRequest request,
                                                     engine::CancellationPtr cancellation) override;
    Task<std::optional<Completion>> complete(CompletionRequest request) override;

   private:
    Task<RpcResult<Round<PromptOutcome>>> analyse_file(PromptRequest request);

    engine::Executor& executor_;
};

}  // namespace belljar::mcp
