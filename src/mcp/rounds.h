#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/task.h"
#include "engine/cancellation.h"
#include "mcp/call.h"
#include "mcp/provider.h"
#include "mcp/request_state.h"

namespace belljar::mcp {

// What a client would have to declare before it can be asked this; nothing if it has. The request
// is {"method", "params"}.
[[nodiscard]] std::optional<json::object> missing_capability(const json::object& capabilities,
                                                             const json::object& request);

// "name version" out of a clientInfo.
[[nodiscard]] std::string client_name(const json::object& info);

// The capabilities that a request declares, or that its connection remembers.
[[nodiscard]] json::object capabilities_of(const Call& call);

// Calls a handler as often as it needs its client. Modern clients are told what is needed and come
// back with it in a request of their own; legacy ones are asked while their request waits.
class Rounds {
   public:
    static constexpr int kMost = 8;

    // The handler's answer, or the `result` member that tells a modern client what is needed.
    template <typename T>
    using Ended = RpcResult<std::variant<T, json::object>>;
    template <typename T>
    using Handler = std::function<Task<RpcResult<Round<T>>>(Asker)>;

    template <typename T>
    Task<Ended<T>> run(Call call, Handler<T> handler, engine::CancellationPtr cancellation) {
        RpcResult<Asker> asker = asker_of(call);
        if (!asker) {
            co_return std::unexpected(std::move(asker.error()));
        }
        for (int round = 0; round < kMost; ++round) {
            RpcResult<Round<T>> answer = co_await handler(*asker);
            if (!answer) {
                co_return std::unexpected(std::move(answer.error()));
            }
            if (T* outcome = std::get_if<T>(&*answer)) {
                co_return std::move(*outcome);
            }
            InputNeeded& needed = std::get<InputNeeded>(*answer);
            if (std::optional<RpcError> fault = find_fault(asker->capabilities, needed)) {
                co_return std::unexpected(std::move(*fault));
            }
            if (era_of(call.revision) == Era::Modern) {
                co_return encode(call, std::move(needed));
            }
            RpcResult<json::object> inputs =
                co_await ask_all(call, std::move(needed.requests), cancellation);
            if (!inputs) {
                co_return std::unexpected(std::move(inputs.error()));
            }
            asker->inputs = std::move(*inputs);
            asker->state = std::move(needed.state);
        }
        co_return rpc_fail(RpcCode::InternalError, "The client was asked too often.");
    }

    // As a handler is told of it, in the first round or, for modern clients, in a later one.
    [[nodiscard]] RpcResult<Asker> asker_of(const Call& call);
    // What the client has not declared of what is needed.
    [[nodiscard]] static std::optional<RpcError> find_fault(const json::object& capabilities,
                                                            const InputNeeded& needed);

   private:
    [[nodiscard]] json::object encode(const Call& call, InputNeeded needed) const;
    // Asks a legacy client one thing after the other.
    static Task<RpcResult<json::object>> ask_all(Call call, json::object requests,
                                                 engine::CancellationPtr cancellation);

    RequestStates states_;
};

}  // namespace belljar::mcp
