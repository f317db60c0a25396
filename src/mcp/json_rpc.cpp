#include "mcp/json_rpc.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/utf8.h"
#include "execution/error_wire.h"

namespace belljar::mcp {
namespace {

std::unexpected<BadMessage> bad(std::optional<json::value> id, std::string message) {
    return std::unexpected(BadMessage{
        .id = std::move(id),
        .error = {.code = RpcCode::InvalidRequest, .message = std::move(message)},
    });
}

bool is_id(const json::value& value) {
    return value.is_string() || value.is_int64() || value.is_uint64();
}

bool is_version_2(const json::value* version) {
    return version != nullptr && version->is_string() && version->get_string() == "2.0";
}

}  // namespace

std::unexpected<RpcError> rpc_fail(RpcCode code, std::string message) {
    return std::unexpected(RpcError{.code = code, .message = std::move(message)});
}

RpcError own_fault() {
    return {.code = RpcCode::InternalError,
            .message = execution::client_message({.code = ErrorCode::Internal})};
}

std::expected<Message, BadMessage> parse_message(json::value value) {
    json::object* object = value.if_object();
    if (object == nullptr) {
        return bad(std::nullopt, fmt::format("A JSON-RPC message must be an object, not {}.",
                                             describe_kind(value)));
    }
    std::optional<json::value> id;
    if (const json::value* given = object->if_contains("id")) {
        if (!is_id(*given)) {
            return bad(std::nullopt, fmt::format("The id must be a string or an integer, not {}.",
                                                 describe_kind(*given)));
        }
        id = *given;
    }
    if (!is_version_2(object->if_contains("jsonrpc"))) {
        return bad(id, "A JSON-RPC message must have \"jsonrpc\": \"2.0\".");
    }
    json::value* method = object->if_contains("method");
    if (method == nullptr && id && (object->contains("result") || object->contains("error"))) {
        Message response{.kind = Message::Kind::Response, .id = std::move(*id)};
        if (json::value* error = object->if_contains("error")) {
            response.error = std::move(*error);
        } else {
            response.result = std::move(object->at("result"));
        }
        return response;
    }
    if (method == nullptr || !method->is_string()) {
        return bad(id, "A JSON-RPC request must have a \"method\" that is a string.");
    }
    Message message{.method = std::string(method->get_string())};
    if (json::value* params = object->if_contains("params")) {
        if (!params->is_object()) {
            return bad(
                id, fmt::format("\"params\" must be an object, not {}.", describe_kind(*params)));
        }
        message.params = std::move(params->get_object());
    }
    if (id) {
        message.kind = Message::Kind::Request;
        message.id = std::move(*id);
    }
    return message;
}

std::string result_message(const json::value& id, std::string_view result) {
    std::string message = begin_result_message(id);
    message.reserve(message.size() + result.size() + kEndOfMessage.size());
    message += result;
    message += kEndOfMessage;
    return message;
}

std::string begin_result_message(const json::value& id) {
    std::string message = R"({"jsonrpc":"2.0","id":)";
    message += id.is_int64() ? std::to_string(id.get_int64()) : to_text(id);
    message += R"(,"result":)";
    return message;
}

std::string error_message(const std::optional<json::value>& id, RpcError error) {
    json::object body;
    body["code"] = static_cast<int>(error.code);
    body["message"] = make_valid_utf8(error.message);
    if (!error.data.is_null()) {
        body["data"] = std::move(error.data);
    }
    json::object message;
    message["jsonrpc"] = "2.0";
    if (id) {
        message["id"] = *id;
    }
    message["error"] = std::move(body);
    return to_text(message);
}

std::string notification_message(std::string_view method, json::object params) {
    json::object message{{"jsonrpc", "2.0"}, {"method", method}};
    if (!params.empty()) {
        message["params"] = std::move(params);
    }
    return to_text(message);
}

std::string request_message(std::string_view id, std::string_view method, json::object params) {
    json::object message{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}};
    if (!params.empty()) {
        message["params"] = std::move(params);
    }
    return to_text(message);
}

std::string batch_message(const std::vector<std::string>& answers) {
    return fmt::format("[{}]", fmt::join(answers, ","));
}

}  // namespace belljar::mcp
