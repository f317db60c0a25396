#pragma once

#include "mcp/call.h"
#include "mcp/provider.h"
#include "mcp/rounds.h"

namespace belljar::mcp {

// prompts/* and completion/complete. Borrows what it is given, which outlives every coroutine that
// it hands out.
class PromptMethods {
   public:
    PromptMethods(const Identity& identity, const Providers& providers, Rounds& rounds)
        : identity_(identity), providers_(providers), rounds_(rounds) {}

    Task<RpcResult<std::string>> list(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> get(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> complete_argument(Call call, engine::CancellationPtr cancellation);

   private:
    const Identity& identity_;
    const Providers& providers_;
    Rounds& rounds_;
};

}  // namespace belljar::mcp
