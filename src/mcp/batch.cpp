#include "mcp/batch.h"

#include <fmt/format.h>

#include <algorithm>

#include "mcp/era.h"

namespace belljar::mcp {
namespace {

constexpr std::size_t kLongestBatch = 64;

RpcError invalid(std::string message) {
    return {.code = RpcCode::InvalidRequest, .message = std::move(message)};
}

}  // namespace

std::optional<RpcError> find_batch_fault(const json::array& batch) {
    if (batch.empty()) {
        return invalid("A JSON-RPC batch must not be empty.");
    }
    if (batch.size() > kLongestBatch) {
        return invalid(fmt::format("A JSON-RPC batch may have at most {} messages, not {}.",
                                   kLongestBatch, batch.size()));
    }
    const bool modern = std::ranges::any_of(
        batch, [](const json::value& element) { return version_claim_of(element) != nullptr; });
    return modern ? std::optional(batch_not_allowed()) : std::nullopt;
}

std::optional<RpcError> find_batch_element_fault(const Message& message) {
    if (message.method == "initialize") {
        return invalid("initialize must be sent alone, not in a batch.");
    }
    return std::nullopt;
}

RpcError batch_not_allowed() {
    return invalid(
        fmt::format("JSON-RPC batches belong to revision {} only; send one message at a time.",
                    name_of(Revision::V2025_03_26)));
}

}  // namespace belljar::mcp
