#pragma once

#include "engine/executor.h"
#include "mcp/provider.h"

namespace belljar::mcp {

// What this installation is: its languages, and what it allows. Borrows the executor.
class InfoResources : public Provider {
   public:
    explicit InfoResources(engine::Executor& executor) : executor_(executor) {}

    Task<std::vector<ResourceDefinition>> resources(Asker asker) override;
    [[nodiscard]] bool owns_resource(std::string_view uri) const override;
    Task<RpcResult<Round<ResourceContents>>> read_resource(
        ResourceRequest request, engine::CancellationPtr cancellation) override;

   private:
    engine::Executor& executor_;
};

}  // namespace belljar::mcp
