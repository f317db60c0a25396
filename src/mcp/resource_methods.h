#pragma once

#include "mcp/call.h"
#include "mcp/provider.h"
#include "mcp/rounds.h"

namespace belljar::mcp {

// resources/*. Borrows what it is given, which outlives every coroutine that it hands out.
class ResourceMethods {
   public:
    // Of one connection.
    static constexpr std::size_t kMostSubscriptions = 256;

    ResourceMethods(const Identity& identity, const Providers& providers, Rounds& rounds)
        : identity_(identity), providers_(providers), rounds_(rounds) {}

    Task<RpcResult<std::string>> list(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> list_templates(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> read(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> subscribe(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> unsubscribe(Call call, engine::CancellationPtr cancellation);

   private:
    [[nodiscard]] Provider* find(std::string_view uri) const;

    const Identity& identity_;
    const Providers& providers_;
    Rounds& rounds_;
};

}  // namespace belljar::mcp
