#include "mcp/era.h"

#include <fmt/format.h>

#include "mcp/quote.h"

namespace belljar::mcp {
namespace {

bool claims_modern_version(const json::value* claim) {
    return claim != nullptr && claim->is_string() && names_modern_version(claim->get_string());
}

}  // namespace

const json::value* version_claim(const json::object& params) {
    const json::value* meta = params.if_contains("_meta");
    const json::object* members = meta != nullptr ? meta->if_object() : nullptr;
    return members != nullptr ? members->if_contains(kProtocolVersionKey) : nullptr;
}

const json::value* version_claim_of(const json::value& message) {
    const json::object* object = message.if_object();
    const json::value* params = object != nullptr ? object->if_contains("params") : nullptr;
    const json::object* members = params != nullptr ? params->if_object() : nullptr;
    return members != nullptr ? version_claim(*members) : nullptr;
}

RpcResult<Era> classify(const Message& message, const std::optional<std::string>& version_header) {
    const json::value* claim = version_claim(message.params);
    const bool modern_header = version_header && names_modern_version(*version_header);
    if (message.kind == Message::Kind::Notification) {
        return claim != nullptr || modern_header ? Era::Modern : Era::Legacy;
    }
    if (message.method == "initialize" && !claims_modern_version(claim)) {
        if (modern_header) {
            return rpc_fail(RpcCode::HeaderMismatch,
                            fmt::format("initialize belongs to revisions up to {}, but the "
                                        "MCP-Protocol-Version header says {}.",
                                        name_of(kNewestLegacyRevision), quote(*version_header)));
        }
        return Era::Legacy;
    }
    if (claim != nullptr) {
        return Era::Modern;
    }
    if (modern_header) {
        return rpc_fail(
            RpcCode::InvalidParams,
            fmt::format("The MCP-Protocol-Version header says {}, so params._meta must "
                        "have \"{}\" and \"{}\".",
                        quote(*version_header), kProtocolVersionKey, kClientCapabilitiesKey));
    }
    return Era::Legacy;
}

}  // namespace belljar::mcp
