#pragma once

#include "mcp/call.h"
#include "mcp/provider.h"

namespace belljar::mcp {

inline constexpr std::string_view kSkillsExtension = "io.modelcontextprotocol/skills";

// skills/list, skills/get and resources/directory/read. Borrows what it is given.
class SkillMethods {
   public:
    SkillMethods(const Identity& identity, const Providers& providers)
        : identity_(identity), providers_(providers) {}

    Task<RpcResult<std::string>> list(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> get(Call call, engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> read_directory(Call call, engine::CancellationPtr cancellation);

   private:
    const Identity& identity_;
    const Providers& providers_;
};

}  // namespace belljar::mcp
