#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <set>
#include <string>

#include "engine/conversations.h"
#include "mcp/changes.h"
#include "mcp/provider.h"

namespace belljar::mcp {

// The files of conversations as resources, each principal's own. Tells the changes of what happens
// to them. Borrows the conversations and the changes.
class FileResources : public Provider {
   public:
    static constexpr std::string_view kTemplate =
        "belljar://conversations/{id}/files/{+path}{?offset,length}";
    // A list shows the files of the conversations that were changed last.
    static constexpr std::size_t kMostListed = 2000;
    static constexpr std::size_t kMostConversations = 200;

    FileResources(const asio::any_io_executor& io, engine::Conversations& conversations,
                  Changes& changes);

    Task<std::vector<ResourceDefinition>> resources(Asker asker) override;
    [[nodiscard]] std::vector<ResourceTemplate> templates() const override;
    [[nodiscard]] bool owns_resource(std::string_view uri) const override;
    Task<RpcResult<Round<ResourceContents>>> read_resource(
        ResourceRequest request, engine::CancellationPtr cancellation) override;
    Task<std::optional<Completion>> complete(CompletionRequest request) override;

   private:
    void tell(const execution::FileChange& change);

    asio::any_io_executor io_;
    engine::Conversations& conversations_;
    Changes& changes_;
    // Whose lists have changed since they were last told so: a run that makes many files makes one
    // such notice. Shared with the message that tells it, which may outlive this.
    std::shared_ptr<std::set<std::string>> changed_lists_;
    engine::Conversations::Watch watch_;
};

}  // namespace belljar::mcp
