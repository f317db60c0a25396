#pragma once

#include "mcp/provider.h"
#include "storage/output_store.h"

namespace belljar::mcp {

// What runs have written that did not fit into their results, each principal's own. Borrows the
// store; there may be none.
class RunResources : public Provider {
   public:
    static constexpr std::string_view kTemplate =
        "belljar://runs/{execution_id}/{stream}{?offset,length}";

    explicit RunResources(const storage::OutputStore* store) : store_(store) {}

    [[nodiscard]] std::vector<ResourceTemplate> templates() const override;
    [[nodiscard]] bool owns_resource(std::string_view uri) const override;
    Task<RpcResult<Round<ResourceContents>>> read_resource(
        ResourceRequest request, engine::CancellationPtr cancellation) override;
    Task<std::optional<Completion>> complete(CompletionRequest request) override;

   private:
    const storage::OutputStore* store_;
};

}  // namespace belljar::mcp
