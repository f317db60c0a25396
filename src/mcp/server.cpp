#include "mcp/server.h"

#include "access/event_stream.h"
#include "mcp/batch.h"

namespace belljar::mcp {
namespace {

using access::HttpRequest;
using access::HttpResponse;
using engine::CancellationPtr;

HttpResponse accepted() { return {.status = 202, .content_type = ""}; }

HttpResponse respond(unsigned status, std::string body) {
    return {.status = status, .body = std::move(body)};
}

std::string message_event(std::string message) {
    return access::format_event({.name = "message", .data = std::move(message)});
}

// Errors of a method are answers like others, except that modern clients read from the status
// whether the method exists.
unsigned status_of(const Reply& reply, Era era) {
    return era == Era::Modern && reply.error == RpcCode::MethodNotFound ? 404 : 200;
}

}  // namespace

Server::Server(engine::Executor& executor, Identity identity, std::vector<Dialect> dialects)
    : dispatcher_(executor, std::move(identity), std::move(dialects)) {}

Task<HttpResponse> Server::handle_post(HttpRequest request, CancellationPtr cancellation) {
    std::expected<Post, Refusal> post = read_post(request);
    if (!post) {
        Refusal& refusal = post.error();
        co_return respond(refusal.status, error_message(refusal.id, std::move(refusal.error)));
    }
    std::visit([&](auto& served) { served.principal = std::move(request.principal); }, *post);
    if (Batch* batch = std::get_if<Batch>(&*post)) {
        HttpResponse response = co_await serve_batch(std::move(*batch), std::move(cancellation));
        co_return response;
    }
    access::ResponseStreamPtr stream = access::wants_events(request) ? request.stream : nullptr;
    HttpResponse response = co_await serve_call(std::move(std::get<Call>(*post)),
                                                std::move(cancellation), std::move(stream));
    co_return response;
}

// The answer is plain JSON, unless there was something to tell before it: then it is the last event
// of a stream.
Task<HttpResponse> Server::serve_call(Call call, CancellationPtr cancellation,
                                      access::ResponseStreamPtr stream) {
    // Without sessions a notification concerns nothing that is kept here: notifications/cancelled
    // cannot be matched to a request, because two clients may use the same id.
    if (call.message.kind == Message::Kind::Notification) {
        co_return accepted();
    }
    const Era era = era_of(call.revision);
    if (stream) {
        call.notify = [stream](std::string message) {
            if (!stream->is_open()) {
                stream->open(access::event_stream_head());
            }
            return stream->offer(message_event(std::move(message)));
        };
    }
    Reply reply = co_await dispatcher_.answer(std::move(call), std::move(cancellation));
    if (stream && stream->is_open()) {
        stream->put(message_event(std::move(reply.text)));
        co_return HttpResponse{};
    }
    co_return respond(status_of(reply, era), std::move(reply.text));
}

Task<HttpResponse> Server::serve_batch(Batch batch, CancellationPtr cancellation) {
    std::vector<std::string> answers;
    for (json::value& element : batch.elements) {
        if (cancellation->requested()) {
            break;
        }
        std::optional<std::string> answer =
            co_await serve_element(std::move(element), batch.principal, cancellation);
        if (answer) {
            answers.push_back(std::move(*answer));
        }
    }
    co_return answers.empty() ? accepted() : respond(200, batch_message(answers));
}

Task<std::optional<std::string>> Server::serve_element(json::value element, std::string principal,
                                                       CancellationPtr cancellation) {
    std::expected<Message, BadMessage> message = parse_message(std::move(element));
    if (!message) {
        BadMessage& bad = message.error();
        co_return error_message(bad.id.value_or(nullptr), std::move(bad.error));
    }
    if (message->kind != Message::Kind::Request) {
        co_return std::nullopt;
    }
    if (std::optional<RpcError> fault = find_batch_element_fault(*message)) {
        co_return error_message(message->id, std::move(*fault));
    }
    Call call{.message = std::move(*message),
              .revision = Revision::V2025_03_26,
              .principal = std::move(principal)};
    Reply reply = co_await dispatcher_.answer(std::move(call), std::move(cancellation));
    co_return std::move(reply.text);
}

}  // namespace belljar::mcp
