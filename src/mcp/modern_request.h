#pragma once

#include <optional>
#include <string>

#include "mcp/json_rpc.h"

namespace belljar::mcp {

// What a modern HTTP request repeats in its headers.
struct MirrorHeaders {
    std::optional<std::string> version{};  // MCP-Protocol-Version
    std::optional<std::string> method{};   // Mcp-Method
    std::optional<std::string> name{};     // Mcp-Name
};

// The rules for one modern request, in the order in which they are to be applied; each gives what
// is wrong, or nothing. All of them are HTTP status 400.

// params._meta holds what every modern request must carry.
[[nodiscard]] std::optional<RpcError> find_envelope_fault(const Message& message);
// The headers that are present say what the body says.
[[nodiscard]] std::optional<RpcError> find_header_conflict(const Message& message,
                                                           const MirrorHeaders& headers);
// The claimed version is served here. Only after find_envelope_fault found none.
[[nodiscard]] std::optional<RpcError> find_version_fault(const Message& message);
// No required header is missing, and Mcp-Name names the same thing as the body.
[[nodiscard]] std::optional<RpcError> find_header_fault(const Message& message,
                                                        const MirrorHeaders& headers);

// All four in order.
[[nodiscard]] std::optional<RpcError> find_modern_fault(const Message& message,
                                                        const MirrorHeaders& headers);

// The refusal of a version, with what is served instead.
[[nodiscard]] RpcError unsupported_version(std::string_view requested);

}  // namespace belljar::mcp
