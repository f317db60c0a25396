#include "mcp/connection.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>

#include "mcp/batch.h"

namespace belljar::mcp {
namespace {

bool is_blank(std::string_view line) {
    return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

Connection::Connection(Dispatcher& dispatcher, Changes& changes, std::string principal)
    : dispatcher_(dispatcher),
      principal_(std::move(principal)),
      changes_(changes.listen([this](const Change& change) { tell(change); })) {}

Task<std::optional<std::string>> Connection::handle(std::string text) {
    return handle(std::move(text), {.rights = access::Rights::all()});
}

Task<std::optional<std::string>> Connection::handle(std::string text, Sender sender) {
    if (is_blank(text)) {
        co_return std::nullopt;
    }
    Result<json::value> value = parse_json(text);
    if (!value) {
        co_return error_message(unreadable_id(),
                                {.code = RpcCode::ParseError,
                                 .message = fmt::format("The message cannot be read as JSON: {}.",
                                                        value.error().message)});
    }
    if (value->is_array()) {
        std::optional<std::string> answers =
            co_await handle_batch(std::move(value->get_array()), std::move(sender));
        co_return answers;
    }
    std::optional<std::string> answer =
        co_await handle_message(std::move(*value), std::move(sender));
    co_return answer;
}

std::string Connection::refuse_long_message(Bytes limit) const {
    return error_message(
        unreadable_id(),
        {.code = RpcCode::InvalidRequest,
         .message = fmt::format("The message is longer than the {} bytes allowed.", limit.count)});
}

Task<std::optional<std::string>> Connection::handle_batch(json::array batch, Sender sender) {
    if (std::optional<RpcError> fault = find_batch_fault(batch)) {
        co_return error_message(unreadable_id(), std::move(*fault));
    }
    if (era_.legacy_revision() != Revision::V2025_03_26) {
        co_return error_message(unreadable_id(), batch_not_allowed());
    }
    std::vector<std::string> answers;
    for (json::value& element : batch) {
        std::optional<std::string> answer = co_await handle_element(std::move(element), sender);
        if (answer) {
            answers.push_back(std::move(*answer));
        }
    }
    co_return answers.empty() ? std::nullopt : std::optional(batch_message(answers));
}

Task<std::optional<std::string>> Connection::handle_element(json::value value, Sender sender) {
    std::expected<Message, BadMessage> message = parse_message(std::move(value));
    if (!message) {
        BadMessage& bad = message.error();
        co_return error_message(bad.id.value_or(nullptr), std::move(bad.error));
    }
    if (std::optional<RpcError> fault = find_batch_element_fault(*message)) {
        co_return error_message(message->id, std::move(*fault));
    }
    std::optional<std::string> answer =
        co_await handle_parsed(std::move(*message), std::move(sender));
    co_return answer;
}

Task<std::optional<std::string>> Connection::handle_message(json::value value, Sender sender) {
    std::expected<Message, BadMessage> message = parse_message(std::move(value));
    if (!message) {
        BadMessage& bad = message.error();
        co_return error_message(bad.id ? bad.id : unreadable_id(), std::move(bad.error));
    }
    std::optional<std::string> answer =
        co_await handle_parsed(std::move(*message), std::move(sender));
    co_return answer;
}

Task<std::optional<std::string>> Connection::handle_parsed(Message message, Sender sender) {
    if (message.kind == Message::Kind::Notification) {
        handle_notification(message);
    } else if (message.kind == Message::Kind::Response) {
        // One to nothing that was asked is nobody's; answering it could start a loop.
        questions_->take(std::move(message));
        co_return std::nullopt;
    }
    if (message.kind != Message::Kind::Request) {
        co_return std::nullopt;
    }
    std::optional<std::string> answer =
        co_await handle_request(std::move(message), std::move(sender));
    co_return answer;
}

Task<std::optional<std::string>> Connection::handle_request(Message request, Sender sender) {
    RpcResult<Revision> revision = era_.admit(request);
    if (!revision) {
        co_return error_message(request.id, std::move(revision.error()));
    }
    RpcResult<InFlight::EntryPtr> entry = in_flight_.begin(request.id);
    if (!entry) {
        co_return error_message(request.id, std::move(entry.error()));
    }
    const engine::CancellationPtr cancellation = (*entry)->cancellation();
    Call call{.message = std::move(request),
              .revision = *revision,
              .principal = principal_,
              .rights = sender.rights,
              .origin = std::move(sender.origin),
              .trace = std::move(sender.trace),
              .notify = notify_for(cancellation),
              .memory = &memory_};
    if (era_of(*revision) == Era::Legacy && notify_) {
        call.questions = questions_;
        call.send_question = notify_for(cancellation);
    }
    Reply reply = co_await dispatcher_.answer(std::move(call), cancellation);
    if (cancellation->requested()) {
        co_return std::nullopt;
    }
    co_return text_of(std::move(reply));
}

// A request that was cancelled is not spoken of any more.
Notify Connection::notify_for(const engine::CancellationPtr& cancellation) const {
    if (!notify_) {
        return nullptr;
    }
    return [this, cancellation](std::string message) {
        return cancellation->requested() || !notify_ || notify_(std::move(message));
    };
}

void Connection::handle_notification(const Message& notification) {
    const json::value* id = notification.params.if_contains("requestId");
    if (notification.method == "notifications/cancelled" && id != nullptr) {
        in_flight_.cancel(*id);
    }
}

// Modern clients hear of changes through what they listen to.
void Connection::tell(const Change& change) {
    if (!era_.settled_legacy() || !notify_ || !change.concerns(principal_)) {
        return;
    }
    if (std::optional<std::string> notification = legacy_notification(change, memory_)) {
        notify_(std::move(*notification));
    }
}

std::optional<json::value> Connection::unreadable_id() const {
    return era_.settled_legacy() ? std::optional(json::value(nullptr)) : std::nullopt;
}

}  // namespace belljar::mcp
