#pragma once

#include <optional>
#include <string>
#include <vector>

#include "access/http_message.h"
#include "mcp/json_rpc.h"

namespace belljar::mcp {

// An argument of a tool that modern HTTP clients repeat in a header, so that proxies can see it.
struct ParamHeader {
    std::string header{};             // "Mcp-Param-Region"
    std::vector<std::string> path{};  // of the argument
};

// Those that a tool's input schema marks with x-mcp-header.
[[nodiscard]] std::vector<ParamHeader> find_param_headers(const json::object& input_schema);

// What a header may carry of a value that is no plain text; nothing if it is malformed.
[[nodiscard]] std::optional<std::string> decode_header_value(std::string_view value);

// Where header and argument differ, or one of them is missing.
[[nodiscard]] std::optional<RpcError> find_param_fault(const std::vector<ParamHeader>& marked,
                                                       const json::object& arguments,
                                                       const access::HttpRequest& request);

}  // namespace belljar::mcp
