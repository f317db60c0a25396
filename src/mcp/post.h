#pragma once

#include <boost/json/array.hpp>
#include <expected>
#include <optional>
#include <variant>

#include "access/http_message.h"
#include "mcp/call.h"
#include "mcp/json_rpc.h"

namespace belljar::mcp {

// A legacy batch whose elements are still to be parsed, one by one.
struct Batch {
    json::array elements{};
    std::string principal{};  // who sent it
    access::Rights rights = access::Rights::all();
    access::Origin origin{};
    std::optional<access::TraceContext> trace{};
    std::optional<std::string> session_id{};  // as its header says
};

using Post = std::variant<Call, Batch>;

// Why a POST is not served, with the HTTP status to say it.
struct Refusal {
    unsigned status = 400;
    std::optional<json::value> id{};  // as it is to be sent: none, null or the request's
    RpcError error{};
};

// Everything that can be decided about a POST before its method is looked up: content type, JSON,
// JSON-RPC, era, headers and version, in the order the specification gives.
[[nodiscard]] std::expected<Post, Refusal> read_post(const access::HttpRequest& request);

}  // namespace belljar::mcp
