#include "mcp/stdio_session.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>

#include "execution/error_wire.h"
#include "mcp/batch.h"

namespace belljar::mcp {
namespace {

using engine::Cancellation;
using engine::CancellationPtr;

constexpr std::size_t kMostInFlight = 256;

bool is_blank(std::string_view line) {
    return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

class StdioSession::Registration {
   public:
    Registration(InFlight& in_flight, const std::string& key, CancellationPtr cancellation)
        : in_flight_(in_flight), entry_(in_flight.emplace(key, std::move(cancellation)).first) {}
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    ~Registration() { in_flight_.erase(entry_); }

   private:
    InFlight& in_flight_;
    InFlight::iterator entry_;
};

Task<std::optional<std::string>> StdioSession::handle_line(std::string line) {
    if (is_blank(line)) {
        co_return std::nullopt;
    }
    Result<json::value> value = parse_json(line);
    if (!value) {
        co_return error_message(unreadable_id(),
                                {.code = RpcCode::ParseError,
                                 .message = fmt::format("The line cannot be read as JSON: {}.",
                                                        value.error().message)});
    }
    if (value->is_array()) {
        std::optional<std::string> answers = co_await handle_batch(std::move(value->get_array()));
        co_return answers;
    }
    std::optional<std::string> answer = co_await handle_message(std::move(*value));
    co_return answer;
}

std::string StdioSession::refuse_long_line(Bytes limit) const {
    return error_message(
        unreadable_id(),
        {.code = RpcCode::InvalidRequest,
         .message = fmt::format("The line is longer than the {} bytes allowed.", limit.count)});
}

void StdioSession::cancel_all() {
    // A cancelled run may end within the call and leave the map, so walk over a copy.
    const InFlight in_flight = in_flight_;
    for (const auto& [key, cancellation] : in_flight) {
        cancellation->request();
    }
}

Task<std::optional<std::string>> StdioSession::handle_batch(json::array batch) {
    if (std::optional<RpcError> fault = find_batch_fault(batch)) {
        co_return error_message(unreadable_id(), std::move(*fault));
    }
    if (era_.legacy_revision() != Revision::V2025_03_26) {
        co_return error_message(unreadable_id(), batch_not_allowed());
    }
    std::vector<std::string> answers;
    for (json::value& element : batch) {
        std::optional<std::string> answer = co_await handle_element(std::move(element));
        if (answer) {
            answers.push_back(std::move(*answer));
        }
    }
    co_return answers.empty() ? std::nullopt : std::optional(batch_message(answers));
}

Task<std::optional<std::string>> StdioSession::handle_element(json::value value) {
    std::expected<Message, BadMessage> message = parse_message(std::move(value));
    if (!message) {
        BadMessage& bad = message.error();
        co_return error_message(bad.id.value_or(nullptr), std::move(bad.error));
    }
    if (std::optional<RpcError> fault = find_batch_element_fault(*message)) {
        co_return error_message(message->id, std::move(*fault));
    }
    std::optional<std::string> answer = co_await handle_parsed(std::move(*message));
    co_return answer;
}

Task<std::optional<std::string>> StdioSession::handle_message(json::value value) {
    std::expected<Message, BadMessage> message = parse_message(std::move(value));
    if (!message) {
        BadMessage& bad = message.error();
        co_return error_message(bad.id ? bad.id : unreadable_id(), std::move(bad.error));
    }
    std::optional<std::string> answer = co_await handle_parsed(std::move(*message));
    co_return answer;
}

Task<std::optional<std::string>> StdioSession::handle_parsed(Message message) {
    if (message.kind == Message::Kind::Notification) {
        handle_notification(message);
    }
    // Nothing is asked of the client, so a response is nobody's; answering it could start a loop.
    if (message.kind != Message::Kind::Request) {
        co_return std::nullopt;
    }
    std::optional<std::string> answer = co_await handle_request(std::move(message));
    co_return answer;
}

Task<std::optional<std::string>> StdioSession::handle_request(Message request) {
    RpcResult<Revision> revision = era_.admit(request);
    if (!revision) {
        co_return error_message(request.id, std::move(revision.error()));
    }
    const std::string key = to_text(request.id);
    if (std::optional<RpcError> fault = find_in_flight_fault(key)) {
        co_return error_message(request.id, std::move(*fault));
    }
    const auto cancellation = std::make_shared<Cancellation>();
    const Registration registration(in_flight_, key, cancellation);
    Call call{.message = std::move(request),
              .revision = *revision,
              .notify = notify_for(cancellation),
              .memory = &memory_};
    Reply reply = co_await server_.dispatcher().answer(std::move(call), cancellation);
    if (cancellation->requested()) {
        co_return std::nullopt;
    }
    co_return std::move(reply.text);
}

// A request that was cancelled is not spoken of any more.
Notify StdioSession::notify_for(const CancellationPtr& cancellation) const {
    if (!notify_) {
        return nullptr;
    }
    return [this, cancellation](std::string message) {
        return cancellation->requested() || notify_(std::move(message));
    };
}

void StdioSession::handle_notification(const Message& notification) {
    if (notification.method != "notifications/cancelled") {
        return;
    }
    const json::value* id = notification.params.if_contains("requestId");
    const auto entry = id != nullptr ? in_flight_.find(to_text(*id)) : in_flight_.end();
    if (entry != in_flight_.end()) {
        // Held here, because the request may end within the call and drop its own reference.
        const CancellationPtr cancellation = entry->second;
        cancellation->request();
    }
}

std::optional<RpcError> StdioSession::find_in_flight_fault(const std::string& key) const {
    if (in_flight_.contains(key)) {
        return RpcError{.code = RpcCode::InvalidRequest,
                        .message =
                            "A request with this id is still being answered; give every "
                            "request an id of its own."};
    }
    if (in_flight_.size() >= kMostInFlight) {
        return RpcError{
            .code = static_cast<RpcCode>(execution::json_rpc_code(ErrorCode::Overloaded)),
            .message = fmt::format("{} requests are being answered already; wait for some of them.",
                                   kMostInFlight)};
    }
    return std::nullopt;
}

std::optional<json::value> StdioSession::unreadable_id() const {
    return era_.settled_legacy() ? std::optional(json::value(nullptr)) : std::nullopt;
}

}  // namespace belljar::mcp
