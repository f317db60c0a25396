#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "access/http_message.h"
#include "mcp/call.h"
#include "mcp/param_headers.h"
#include "mcp/provider.h"
#include "mcp/rounds.h"
#include "mcp/tasks.h"

namespace belljar::mcp {

// What the providers' tools are, as long as they do not change.
struct KnownTools {
    // What follows the id in an answer to tools/list, which is long: all who ask alike share it.
    struct List {
        Revision revision;
        access::Rights rights;
        std::shared_ptr<const std::string> text;
    };

    std::uint64_t version = 0;
    std::vector<List> lists{};
    std::map<std::string, ToolDefinition, std::less<>> tools{};
    std::map<std::string, std::vector<ParamHeader>, std::less<>> headers{};  // if any
};

// tools/list and tools/call. Borrows what it is given, which outlives every coroutine that it hands
// out.
class ToolMethods {
   public:
    // A call of a client that knows tasks becomes one if it takes longer, where the tool allows it.
    static constexpr auto kPatience = std::chrono::seconds(2);

    ToolMethods(const Identity& identity, const Providers& providers, Rounds& rounds, Tasks& tasks)
        : identity_(identity), providers_(providers), rounds_(rounds), tasks_(tasks) {}

    // The rest of the answer: the result and kEndOfMessage.
    [[nodiscard]] RpcResult<std::shared_ptr<const std::string>> list(const Call& call);
    Task<RpcResult<std::string>> call(Call call, engine::CancellationPtr cancellation);

    // What is wrong with the headers that repeat arguments of this tools/call.
    [[nodiscard]] std::optional<RpcError> find_header_fault(const Message& message,
                                                            const access::HttpRequest& request);
    // The rights that this tools/call needs and its caller does not have.
    [[nodiscard]] access::Rights lacking_rights(const Call& call) const;

   private:
    [[nodiscard]] KnownTools& known();
    [[nodiscard]] std::string make_list(const Call& call) const;
    [[nodiscard]] Provider* find(std::string_view name) const;
    Task<RpcResult<std::string>> call_at_once(Call call, Rounds::Handler<ToolOutcome> handler,
                                              engine::CancellationPtr cancellation);
    Task<RpcResult<std::string>> call_as_task(Call call, Tasks::Work work,
                                              engine::CancellationPtr cancellation);
    [[nodiscard]] TaskUse task_use(const std::string& name);
    [[nodiscard]] std::string encoded(const ToolOutcome& outcome, Revision revision) const;

    const Identity& identity_;
    const Providers& providers_;
    Rounds& rounds_;
    Tasks& tasks_;
    std::optional<KnownTools> known_;
};

}  // namespace belljar::mcp
