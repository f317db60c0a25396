#pragma once

#include <boost/json/array.hpp>
#include <optional>

#include "mcp/json_rpc.h"

namespace belljar::mcp {

// JSON-RPC batches exist in revision 2025-03-26 only. What forbids this one as a whole, or nothing.
[[nodiscard]] std::optional<RpcError> find_batch_fault(const json::array& batch);

// What forbids one message of a batch.
[[nodiscard]] std::optional<RpcError> find_batch_element_fault(const Message& message);

// The refusal of a batch in any other revision.
[[nodiscard]] RpcError batch_not_allowed();

}  // namespace belljar::mcp
