#pragma once

#include <boost/json/object.hpp>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace belljar::mcp {

// The codes this server puts on the wire, as JSON-RPC and MCP number them.
enum class RpcCode : int {
    ParseError = -32700,
    InvalidRequest = -32600,
    MethodNotFound = -32601,
    InvalidParams = -32602,
    InternalError = -32603,
    ResourceNotFound = -32002,  // legacy revisions only; modern ones say InvalidParams
    HeaderMismatch = -32020,
    MissingCapability = -32021,
    UnsupportedVersion = -32022,
};

// The error member of an answer. The message is a sentence for a person or a model.
struct RpcError {
    RpcCode code = RpcCode::InternalError;
    std::string message{};
    json::value data{};  // null: none
};

// The value, or the error to answer with. A class, so that ignoring it draws a warning.
template <typename T>
class [[nodiscard]] RpcResult : public std::expected<T, RpcError> {
   public:
    using std::expected<T, RpcError>::expected;
};

[[nodiscard]] std::unexpected<RpcError> rpc_fail(RpcCode code, std::string message);
// For what should never have happened; the log says what it was.
[[nodiscard]] RpcError own_fault();

// One well-formed JSON-RPC message.
struct Message {
    enum class Kind { Request, Notification, Response };

    Kind kind = Kind::Notification;
    json::value id{};  // of a request: a string or an integer, exactly as sent
    std::string method{};
    json::object params{};
    json::value result{};  // of a response; null if it is an error
    json::value error{};   // of a response; null if it is a result
};

// Why a JSON value is no JSON-RPC message, with its id if that much could be read.
struct BadMessage {
    std::optional<json::value> id{};
    RpcError error{};
};

[[nodiscard]] std::expected<Message, BadMessage> parse_message(json::value value);

// Answers as they are sent. `result` is JSON already.
[[nodiscard]] std::string result_message(const json::value& id, std::string_view result);
// The same up to the result, behind which only kEndOfMessage follows.
[[nodiscard]] std::string begin_result_message(const json::value& id);
inline constexpr std::string_view kEndOfMessage = "}";
// Without an id the member is left out; legacy clients expect null in its place.
[[nodiscard]] std::string error_message(const std::optional<json::value>& id, RpcError error);
[[nodiscard]] std::string notification_message(std::string_view method, json::object params);
// What we ask of a client.
[[nodiscard]] std::string request_message(std::string_view id, std::string_view method,
                                          json::object params);
// The answers to a batch.
[[nodiscard]] std::string batch_message(const std::vector<std::string>& answers);

}  // namespace belljar::mcp
