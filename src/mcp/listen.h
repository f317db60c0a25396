#pragma once

#include <set>
#include <string>

#include "mcp/call.h"
#include "mcp/changes.h"
#include "mcp/provider.h"
#include "mcp/tasks.h"

namespace belljar::mcp {

// What one subscriptions/listen wants to hear of.
struct ListenFilter {
    bool tools = false;
    bool prompts = false;
    bool resources = false;
    std::set<std::string> uris{};
    std::set<std::string> tasks{};

    [[nodiscard]] bool wants(const Change& change) const;
    // As the acknowledgement repeats it.
    [[nodiscard]] json::object encode() const;
};

// What a legacy client is told of a change, which it follows for its session as a whole; nothing if
// that is none of its concern.
[[nodiscard]] std::optional<std::string> legacy_notification(const Change& change,
                                                             const ConnectionMemory& memory);

// subscriptions/listen: a request that is answered when it ends. Borrows what it is given.
class ListenMethod {
   public:
    static constexpr std::size_t kMost = 1024;

    ListenMethod(const Identity& identity, const Providers& providers, Changes& changes,
                 Tasks& tasks)
        : identity_(identity), providers_(providers), changes_(changes), tasks_(tasks) {}

    Task<RpcResult<std::string>> listen(Call call, engine::CancellationPtr cancellation);

   private:
    [[nodiscard]] RpcResult<ListenFilter> read_filter(const Call& call);

    const Identity& identity_;
    const Providers& providers_;
    Changes& changes_;
    Tasks& tasks_;
    std::size_t open_ = 0;
};

}  // namespace belljar::mcp
