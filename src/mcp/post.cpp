#include "mcp/post.h"

#include <fmt/format.h>

#include <array>

#include "base/ascii.h"
#include "mcp/batch.h"
#include "mcp/era.h"
#include "mcp/modern_request.h"
#include "mcp/quote.h"

namespace belljar::mcp {
namespace {

using access::HttpRequest;

constexpr std::string_view kVersionHeader = "MCP-Protocol-Version";
constexpr std::string_view kMethodHeader = "Mcp-Method";
constexpr std::string_view kNameHeader = "Mcp-Name";

// "text/html; charset=utf-8" -> "text/html"
std::string_view media_type(std::string_view value) {
    return trim(value.substr(0, value.find(';')));
}

bool is_json(const HttpRequest& request) {
    const std::optional<std::string> type = request.header("Content-Type");
    return type && equals_ignoring_case(media_type(*type), "application/json");
}

// True if one of the listed ranges covers `type`, which is "group/name".
bool accepts(std::string_view ranges, std::string_view type) {
    const std::string group(type.substr(0, type.find('/')));
    while (!ranges.empty()) {
        const std::size_t end = std::min(ranges.find(','), ranges.size());
        const std::string_view range = media_type(ranges.substr(0, end));
        if (equals_ignoring_case(range, type) || range == "*/*" ||
            equals_ignoring_case(range, group + "/*")) {
            return true;
        }
        ranges.remove_prefix(std::min(end + 1, ranges.size()));
    }
    return false;
}

// Legacy clients must accept both forms of answer; one that says nothing is believed to.
bool accepts_answers(const HttpRequest& request) {
    const auto [begin, end] = request.headers.equal_range("Accept");
    if (begin == end) {
        return true;
    }
    std::string ranges;
    for (auto header = begin; header != end; ++header) {
        ranges += header->second + ",";
    }
    return accepts(ranges, "application/json") && accepts(ranges, "text/event-stream");
}

// The name of a header that is given twice with different values, which two readers would read
// differently.
std::optional<std::string_view> ambiguous_header(const HttpRequest& request) {
    for (const std::string_view name : std::array{kVersionHeader, kMethodHeader, kNameHeader}) {
        if (request.headers.contains(name) && !request.header(name)) {
            return name;
        }
    }
    return std::nullopt;
}

// What stands for an id that cannot be read: modern answers leave it out, legacy ones say null.
std::optional<json::value> unreadable_id(const HttpRequest& request, const json::value& body) {
    const std::optional<std::string> version = request.header(kVersionHeader);
    const bool modern =
        version_claim_of(body) != nullptr || (version && names_modern_version(*version));
    return modern ? std::nullopt : std::optional(json::value(nullptr));
}

std::unexpected<Refusal> refuse(std::optional<json::value> id, RpcError error) {
    return std::unexpected(Refusal{.id = std::move(id), .error = std::move(error)});
}

RpcError invalid(std::string message) {
    return {.code = RpcCode::InvalidRequest, .message = std::move(message)};
}

std::unexpected<Refusal> not_acceptable(std::optional<json::value> id) {
    return std::unexpected(Refusal{
        .status = 406,
        .id = std::move(id),
        .error =
            invalid("The Accept header must allow both application/json and text/event-stream.")});
}

std::expected<Post, Refusal> read_batch(const HttpRequest& request, json::array elements) {
    const json::value no_id(nullptr);
    const std::optional<std::string> version = request.header(kVersionHeader);
    if (std::optional<RpcError> fault = find_batch_fault(elements)) {
        return refuse(unreadable_id(request, no_id), std::move(*fault));
    }
    if (request.headers.contains(kVersionHeader) && version != name_of(Revision::V2025_03_26)) {
        return refuse(unreadable_id(request, no_id), batch_not_allowed());
    }
    if (!accepts_answers(request)) {
        return not_acceptable(no_id);
    }
    return Batch{.elements = std::move(elements)};
}

std::expected<Post, Refusal> admit_modern(const HttpRequest& request, Message message) {
    // The specification asks no headers and no envelope of a notification.
    if (message.kind == Message::Kind::Notification) {
        return Call{.message = std::move(message), .revision = kModernRevision};
    }
    const MirrorHeaders headers{.version = request.header(kVersionHeader),
                                .method = request.header(kMethodHeader),
                                .name = request.header(kNameHeader)};
    if (std::optional<RpcError> fault = find_modern_fault(message, headers)) {
        return refuse(std::move(message.id), std::move(*fault));
    }
    return Call{.message = std::move(message), .revision = kModernRevision};
}

std::expected<Post, Refusal> admit_legacy(const HttpRequest& request, Message message) {
    const std::optional<std::string> header = request.header(kVersionHeader);
    const std::optional<Revision> revision =
        header ? parse_revision(*header) : std::optional(kAssumedRevision);
    if (!revision) {
        return refuse(std::move(message.id),
                      invalid(fmt::format("The MCP-Protocol-Version header says {}; served are {}.",
                                          quote(*header), revision_names())));
    }
    if (!accepts_answers(request)) {
        return not_acceptable(std::move(message.id));
    }
    return Call{.message = std::move(message), .revision = *revision};
}

std::expected<Post, Refusal> read_message(const HttpRequest& request, json::value body) {
    const std::optional<json::value> no_id = unreadable_id(request, body);
    std::expected<Message, BadMessage> message = parse_message(std::move(body));
    if (!message) {
        BadMessage& bad = message.error();
        return refuse(bad.id ? bad.id : no_id, std::move(bad.error));
    }
    // Only a session of a legacy revision is ever asked something.
    if (message->kind == Message::Kind::Response && no_id) {
        return Call{.message = std::move(*message), .revision = kAssumedRevision};
    }
    if (message->kind == Message::Kind::Response) {
        return refuse(no_id, invalid("Belljar sends no requests here, so it takes no responses."));
    }
    // A notification has no id; a refusal of it says so as if the id could not be read.
    const std::optional<json::value> id =
        message->kind == Message::Kind::Request ? std::optional(message->id) : no_id;
    if (const std::optional<std::string_view> name = ambiguous_header(request)) {
        return refuse(id, {.code = RpcCode::HeaderMismatch,
                           .message = fmt::format(
                               "The {} header is given twice with different values.", *name)});
    }
    const RpcResult<Era> era = classify(*message, request.header(kVersionHeader));
    if (!era) {
        return refuse(id, era.error());
    }
    return *era == Era::Modern ? admit_modern(request, std::move(*message))
                               : admit_legacy(request, std::move(*message));
}

}  // namespace

std::expected<Post, Refusal> read_post(const HttpRequest& request) {
    const std::optional<json::value> no_id = unreadable_id(request, nullptr);
    if (!is_json(request)) {
        return std::unexpected(
            Refusal{.status = 415,
                    .id = no_id,
                    .error = invalid("The Content-Type header must be application/json.")});
    }
    Result<json::value> body = parse_json(request.body);
    if (!body) {
        return refuse(no_id, {.code = RpcCode::ParseError,
                              .message = fmt::format("The body cannot be read as JSON: {}.",
                                                     body.error().message)});
    }
    if (body->is_array()) {
        return read_batch(request, std::move(body->get_array()));
    }
    return read_message(request, std::move(*body));
}

}  // namespace belljar::mcp
