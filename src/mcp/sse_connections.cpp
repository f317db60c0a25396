#include "mcp/sse_connections.h"

#include <fmt/format.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "access/event_stream.h"
#include "access/gate.h"
#include "base/id.h"

namespace belljar::mcp {
namespace {

using access::HttpRequest;
using access::HttpResponse;
using access::make_refusal;

// Of one client, being answered.
constexpr std::size_t kMostInFlight = 256;
// Of answers that a client has not read yet. Beyond it the connection ends.
constexpr Bytes kMostWaiting = mebibytes(8);

// The value of sessionId, or of session_id, as older servers called it.
std::string session_of(std::string_view query) {
    while (!query.empty()) {
        const std::size_t end = std::min(query.find('&'), query.size());
        const std::string_view pair = query.substr(0, end);
        const std::size_t equals = std::min(pair.find('='), pair.size());
        const std::string_view name = pair.substr(0, equals);
        if ((name == "sessionId" || name == "session_id") && equals < pair.size()) {
            return std::string(pair.substr(equals + 1));
        }
        query.remove_prefix(std::min(end + 1, query.size()));
    }
    return "";
}

}  // namespace

Task<HttpResponse> SseConnections::open(HttpRequest request, engine::CancellationPtr cancellation) {
    if (open_.size() >= kMost || stopping_ || !request.stream) {
        co_return make_refusal(503, "too many clients listen already; try again later");
    }
    const std::string id = random_hex(16);
    const auto open = std::make_shared<Open>(
        Open{.principal = request.principal,
             .connection = std::make_unique<Connection>(dispatcher_, changes_, request.principal),
             .stream = request.stream,
             .hung_up = cancellation});
    open->connection->on_notification([stream = open->stream](std::string message) {
        return stream->offer(access::message_event(std::move(message)));
    });
    open_.emplace(id, open);
    open->stream->open(access::event_stream_head());
    open->stream->put(access::format_event(
        {.name = "endpoint", .data = fmt::format("/mcp/messages?sessionId={}", id)}));
    asio::steady_timer ended(executor_, asio::steady_timer::time_point::max());
    cancellation->on_request([&ended] { ended.cancel(); });
    if (!cancellation->requested()) {
        boost::system::error_code ignored;
        co_await ended.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    cancellation->on_request(nullptr);
    open_.erase(id);
    // Closing the stream ends the session, and there is nobody left to hear the answers.
    open->connection->on_notification(nullptr);
    open->connection->cancel_all();
    co_return HttpResponse{};
}

HttpResponse SseConnections::take(HttpRequest request) {
    const auto found = open_.find(session_of(request.query));
    if (found == open_.end() || found->second->principal != request.principal) {
        return make_refusal(404, "there is no such session; open one with GET /mcp/sse");
    }
    if (requests_.running() >= kMost * kMostInFlight ||
        !requests_.spawn("message", answer(found->second, std::move(request)))) {
        return make_refusal(503, "too many messages are being answered; try again later");
    }
    return {.status = 202, .body = R"({"message":"Accepted"})"};
}

// Shares the connection, which may end before the answer is there. What the caller may do is what
// it may do now: its token may be another than the one that the connection was opened with.
Task<void> SseConnections::answer(OpenPtr open, HttpRequest request) {
    Connection::Sender sender{.rights = request.rights,
                              .origin = access::origin_of(request),
                              .trace = std::move(request.trace)};
    std::optional<std::string> reply =
        co_await open->connection->handle(std::move(request.body), std::move(sender));
    if (reply && open->stream->waiting() > kMostWaiting.count) {
        open->hung_up->request();
    } else if (reply) {
        open->stream->put(access::message_event(std::move(*reply)));
    }
}

void SseConnections::stop() {
    stopping_ = true;
    requests_.close();
    for (const auto& [id, open] : open_) {
        open->connection->cancel_all();
    }
}

Task<void> SseConnections::wait(asio::steady_timer::time_point deadline) {
    co_await requests_.wait(deadline);
}

}  // namespace belljar::mcp
