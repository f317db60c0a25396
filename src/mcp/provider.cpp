#include "mcp/provider.h"

#include <fmt/format.h>

#include "base/assert.h"
#include "base/utf8.h"
#include "mcp/quote.h"

namespace belljar::mcp {

RpcError resource_not_found(std::string_view uri) {
    return {.code = RpcCode::ResourceNotFound,
            .message = fmt::format("There is no resource {}.", quote(uri)),
            .data = json::object{{"uri", make_valid_utf8(uri)}}};
}

// Who has something to give overrides these; nobody asks the others.

Task<RpcResult<Round<ToolOutcome>>> Provider::call_tool(ToolRequest /*request*/,
                                                        engine::CancellationPtr /*cancellation*/) {
    BJ_ASSERT(false);
    co_return rpc_fail(RpcCode::InternalError, "");
}

Task<std::vector<ResourceDefinition>> Provider::resources(Asker /*asker*/) {
    co_return std::vector<ResourceDefinition>{};
}

Task<RpcResult<Round<ResourceContents>>> Provider::read_resource(
    ResourceRequest /*request*/, engine::CancellationPtr /*cancellation*/) {
    BJ_ASSERT(false);
    co_return rpc_fail(RpcCode::InternalError, "");
}

Task<RpcResult<Round<PromptOutcome>>> Provider::get_prompt(
    PromptRequest /*request*/, engine::CancellationPtr /*cancellation*/) {
    BJ_ASSERT(false);
    co_return rpc_fail(RpcCode::InternalError, "");
}

}  // namespace belljar::mcp
