#pragma once

#include <optional>
#include <string>

#include "mcp/json_rpc.h"
#include "mcp/revision.h"

namespace belljar::mcp {

inline constexpr std::string_view kProtocolVersionKey = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kClientInfoKey = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view kClientCapabilitiesKey =
    "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view kServerInfoKey = "io.modelcontextprotocol/serverInfo";

// The value at params._meta[protocolVersion], of whatever type; null pointer if there is none. Its
// presence is what makes a request modern.
[[nodiscard]] const json::value* version_claim(const json::object& params);
// The same of a message that was not parsed yet.
[[nodiscard]] const json::value* version_claim_of(const json::value& message);

// The era of one request or notification, told by its body first and by the MCP-Protocol-Version
// header second. An error here is HTTP status 400.
[[nodiscard]] RpcResult<Era> classify(const Message& message,
                                      const std::optional<std::string>& version_header);

}  // namespace belljar::mcp
