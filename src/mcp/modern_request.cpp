#include "mcp/modern_request.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>

#include "mcp/era.h"
#include "mcp/param_headers.h"
#include "mcp/quote.h"

namespace belljar::mcp {
namespace {

RpcError header_mismatch(std::string message) {
    return {.code = RpcCode::HeaderMismatch, .message = std::move(message)};
}

RpcError bad_envelope(std::string_view problem) {
    return {.code = RpcCode::InvalidParams,
            .message = fmt::format("{} Every request of this revision needs params._meta with "
                                   "\"{}\" (a string) and \"{}\" (an object).",
                                   problem, kProtocolVersionKey, kClientCapabilitiesKey)};
}

// The member of params that Mcp-Name repeats; empty if the method has none.
std::string_view named_member(std::string_view method) {
    if (method == "tools/call" || method == "prompts/get") {
        return "name";
    }
    if (method == "tasks/get" || method == "tasks/update" || method == "tasks/cancel") {
        return "taskId";
    }
    return method == "resources/read" ? "uri" : "";
}

std::optional<RpcError> find_name_fault(const Message& message, std::string_view member,
                                        const std::optional<std::string>& header) {
    if (!header) {
        return header_mismatch(
            fmt::format("The Mcp-Name header is missing; {} needs it with the value of params.{}.",
                        message.method, member));
    }
    const std::optional<std::string> name = decode_header_value(*header);
    if (!name) {
        return header_mismatch("The Mcp-Name header is not valid base64 of UTF-8 text.");
    }
    const json::value* body = message.params.if_contains(member);
    if (body != nullptr && body->is_string() && *name != body->get_string()) {
        return header_mismatch(
            fmt::format("The Mcp-Name header says {} but params.{} says {}; they must be equal.",
                        quote(*name), member, quote(body->get_string())));
    }
    return std::nullopt;
}

}  // namespace

std::optional<RpcError> find_envelope_fault(const Message& message) {
    const json::value* claim = version_claim(message.params);
    if (claim == nullptr) {
        return bad_envelope("The request does not say its protocol version.");
    }
    if (!claim->is_string()) {
        return bad_envelope("The protocol version is not a string.");
    }
    const json::object& meta = message.params.at("_meta").get_object();
    const json::value* capabilities = meta.if_contains(kClientCapabilitiesKey);
    if (capabilities == nullptr || !capabilities->is_object()) {
        return bad_envelope("The client capabilities are missing or not an object.");
    }
    return std::nullopt;
}

std::optional<RpcError> find_header_conflict(const Message& message, const MirrorHeaders& headers) {
    const json::string& version = version_claim(message.params)->get_string();
    if (headers.version && *headers.version != version) {
        return header_mismatch(fmt::format(
            "The MCP-Protocol-Version header says {} but params._meta says {}; they must be equal.",
            quote(*headers.version), quote(version)));
    }
    if (headers.method && *headers.method != message.method) {
        return header_mismatch(
            fmt::format("The Mcp-Method header says {} but the method is {}; they must be equal.",
                        quote(*headers.method), quote(message.method)));
    }
    return std::nullopt;
}

std::optional<RpcError> find_version_fault(const Message& message) {
    const json::string& claim = version_claim(message.params)->get_string();
    if (claim == name_of(kModernRevision)) {
        return std::nullopt;
    }
    return unsupported_version(claim);
}

std::optional<RpcError> find_header_fault(const Message& message, const MirrorHeaders& headers) {
    if (!headers.version) {
        return header_mismatch(
            fmt::format("The MCP-Protocol-Version header is missing; it must be {}.",
                        name_of(kModernRevision)));
    }
    if (!headers.method) {
        return header_mismatch(
            fmt::format("The Mcp-Method header is missing; it must be {}.", quote(message.method)));
    }
    const std::string_view member = named_member(message.method);
    return member.empty() ? std::nullopt : find_name_fault(message, member, headers.name);
}

std::optional<RpcError> find_modern_fault(const Message& message, const MirrorHeaders& headers) {
    if (std::optional<RpcError> fault = find_envelope_fault(message)) {
        return fault;
    }
    if (std::optional<RpcError> fault = find_header_conflict(message, headers)) {
        return fault;
    }
    if (std::optional<RpcError> fault = find_version_fault(message)) {
        return fault;
    }
    return find_header_fault(message, headers);
}

RpcError unsupported_version(std::string_view requested) {
    return {
        .code = RpcCode::UnsupportedVersion,
        .message = fmt::format("This protocol version is not served here; use {}. Clients of "
                               "older revisions begin with initialize.",
                               name_of(kModernRevision)),
        .data = {{"supported", json::array{name_of(kModernRevision)}}, {"requested", requested}}};
}

}  // namespace belljar::mcp
