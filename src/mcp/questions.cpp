#include "mcp/questions.h"

#include <fmt/format.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "mcp/quote.h"

namespace belljar::mcp {
namespace {

std::string reason_of(const json::value& error) {
    const json::object* object = error.if_object();
    const json::value* message = object != nullptr ? object->if_contains("message") : nullptr;
    const json::string* text = message != nullptr ? message->if_string() : nullptr;
    return text != nullptr ? fmt::format("The client answered with an error: {}.", quote(*text))
                           : "The client answered with an error.";
}

RpcResult<json::value> result_of(std::optional<Message> response) {
    if (!response) {
        return rpc_fail(RpcCode::InternalError, "The client gave no answer in time.");
    }
    if (!response->error.is_null()) {
        return rpc_fail(RpcCode::InternalError, reason_of(response->error));
    }
    return std::move(response->result);
}

}  // namespace

Task<RpcResult<json::value>> Questions::ask(Question question, SendQuestion send,
                                            engine::CancellationPtr cancellation) {
    const std::shared_ptr<Questions> self = shared_from_this();
    if (open_.size() >= kMost) {
        co_return rpc_fail(RpcCode::InternalError, "Too much has been asked of this client.");
    }
    const auto executor = co_await asio::this_coro::executor;
    const std::string id = fmt::format("belljar-{}", next_++);
    const auto open = std::make_shared<Open>(executor);
    open->answered.expires_after(kPatience);
    open_.emplace(id, open);
    const bool sent = send(request_message(id, question.method, std::move(question.params)));
    cancellation->on_request([open] { open->answered.cancel(); });
    if (sent && !open->response && !cancellation->requested()) {
        boost::system::error_code ignored;
        co_await open->answered.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    cancellation->on_request(nullptr);
    open_.erase(id);
    if (sent && !open->response) {
        // Whoever is still thinking about it need not.
        send(notification_message("notifications/cancelled", {{"requestId", id}}));
    }
    co_return result_of(std::move(open->response));
}

void Questions::take(Message response) {
    const json::string* id = response.id.if_string();
    const auto found = id != nullptr ? open_.find(std::string(*id)) : open_.end();
    if (found == open_.end() || found->second->response) {
        return;
    }
    const std::shared_ptr<Open> open = found->second;
    open->response = std::move(response);
    open->answered.cancel();
}

}  // namespace belljar::mcp
