#include "transport/webhook_sender.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "alerts/signature.h"

namespace belljar::transport {
namespace {

constexpr Bytes kLargestAnswer = kibibytes(64);

}  // namespace

Result<std::unique_ptr<WebhookSender>> WebhookSender::create(asio::any_io_executor executor,
                                                             Options options, const Log& log) {
    const auto refuse = [](std::string_view reason) {
        return fail(ErrorCode::InvalidArgument, fmt::format("alerts.webhook: {}", reason));
    };
    Result<KeyAddress> address = KeyAddress::parse(options.url);
    if (!address) {
        return refuse(
            "must be an address such as https://example.org/alerts; http is for this "
            "machine only");
    }
    if (options.secret.empty()) {
        return refuse("needs alerts.webhook_secret, the key that signs what is posted");
    }
    return std::unique_ptr<WebhookSender>(
        new WebhookSender(std::move(executor), std::move(options), *address, log));
}

WebhookSender::WebhookSender(asio::any_io_executor executor, Options options,
                             const KeyAddress& address, const Log& log)
    : executor_(std::move(executor)),
      options_(std::move(options)),
      address_(address.server()),
      target_(address.target),
      log_(log),
      timer_(executor_),
      stopped_(executor_, TimePoint::max()) {}

void WebhookSender::put(std::string body) {
    if (queue_.size() >= options_.capacity) {
        if (figures_.dropped++ == 0) {
            log_.error("more alerts wait for the webhook than there is room for");
        }
        return;
    }
    queue_.push_back(std::move(body));
    if (idle_) {
        timer_.cancel();
    }
}

WebhookSender::Figures WebhookSender::figures() const {
    Figures figures = figures_;
    figures.waiting = queue_.size();
    return figures;
}

Task<void> WebhookSender::rest(Duration time) {
    boost::system::error_code ignored;
    timer_.expires_after(time);
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

Task<void> WebhookSender::run() {
    while (!stopping_) {
        if (queue_.empty()) {
            idle_ = true;
            co_await rest(std::chrono::hours(1));
            idle_ = false;
            continue;
        }
        const bool sent = co_await deliver(queue_.front());
        if (stopping_) {
            co_return;
        }
        queue_.pop_front();
        ++(sent ? figures_.sent : figures_.given_up);
    }
}

ClientRequest WebhookSender::request_for(const std::string& body) const {
    return {.method = "POST",
            .target = target_,
            .body = body,
            .headers = {{"Belljar-Signature", alerts::sign_body(options_.secret, body,
                                                                std::chrono::system_clock::now())}},
            .largest_answer = kLargestAnswer,
            .clear_only_here = true};
}

Task<bool> WebhookSender::deliver(std::string body) {
    Duration pause = options_.first_pause;
    std::string reason;
    for (std::size_t attempt = 1; attempt <= options_.attempts && !stopping_; ++attempt) {
        const Result<ClientAnswer> answer = co_await ask_server_unless(
            stopped_, address_, request_for(body), Clock::now() + options_.trial);
        if (answer && answer->status >= 200 && answer->status < 300) {
            co_return true;
        }
        reason = answer ? fmt::format("HTTP {}", answer->status) : answer.error().describe();
        if (attempt < options_.attempts && !stopping_) {
            co_await rest(pause);
            pause = std::min(pause * 2, options_.longest_pause);
        }
    }
    log_.error("an alert could not be posted", {{"host", address_.host}, {"reason", reason}});
    co_return false;
}

void WebhookSender::stop() {
    stopping_ = true;
    timer_.cancel();
    stopped_.cancel();
}

}  // namespace belljar::transport
