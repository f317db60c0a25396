#include "api/watch_route.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/object.hpp>
#include <charconv>
#include <optional>

#include "access/event_stream.h"
#include "access/gate.h"
#include "api/refusals.h"
#include "base/clock.h"
#include "base/json.h"

namespace belljar::api {
namespace {

using access::HttpRequest;
using access::HttpResponse;
using access::ResponseStreamPtr;
using engine::FeedEvent;
using engine::RunFeed;

// A watcher that has something to read and reads nothing for this long is sent away.
constexpr auto kStallTime = std::chrono::seconds(60);
// How often to see whether it does.
constexpr auto kLookTime = std::chrono::seconds(1);

std::optional<RunFeed::Output> read_query(std::string_view query) {
    if (query.empty() || query == "output=0" || query == "output=false") {
        return RunFeed::Output::Left;
    }
    return query == "output=1" || query == "output=true" ? std::optional(RunFeed::Output::Shown)
                                                         : std::nullopt;
}

// The number in "epoch-number"; nothing if it is not of this epoch.
std::optional<std::uint64_t> read_event_id(std::string_view id, std::string_view epoch) {
    if (!id.starts_with(epoch) || id.substr(epoch.size()).substr(0, 1) != "-") {
        return std::nullopt;
    }
    id.remove_prefix(epoch.size() + 1);
    std::uint64_t number = 0;
    const auto [rest, error] = std::from_chars(id.data(), id.data() + id.size(), number);
    const bool whole = error == std::errc{} && rest == id.data() + id.size();
    return whole ? std::optional(number) : std::nullopt;
}

// Puts the events of a feed into the stream of one watcher.
class Teller {
   public:
    Teller(ResponseStreamPtr stream, std::string epoch)
        : stream_(std::move(stream)), epoch_(std::move(epoch)) {}

    // What was left out, as soon as there is room to say so.
    void tell_dropped() {
        if (dropped_ > 0 &&
            offer({.name = "dropped", .data = to_text(json::object{{"events", dropped_}})})) {
            dropped_ = 0;
        }
    }

    void tell(const FeedEvent& event) {
        tell_dropped();
        const std::string id = event.number > 0 ? epoch_ + "-" + std::to_string(event.number) : "";
        const bool told =
            dropped_ == 0 && offer({.id = id, .name = std::string(event.name), .data = event.data});
        dropped_ += told ? 0 : 1;
    }

    void tell_missed(const RunFeed::Missed& missed) {
        if (!missed.complete) {
            offer({.name = "gap", .data = "{}"});
        }
        for (const FeedEvent& event : missed.events) {
            tell(event);
        }
    }

   private:
    bool offer(const access::ServerEvent& event) {
        return stream_->offer(access::format_event(event));
    }

    ResponseStreamPtr stream_;
    std::string epoch_;
    std::uint64_t dropped_ = 0;
};

Task<void> wait_for_end(ResponseStreamPtr stream, Teller* teller,
                        engine::CancellationPtr cancellation) {
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    cancellation->on_request([&timer] { timer.cancel(); });
    TimePoint read_at = Clock::now();
    std::uint64_t taken = 0;
    while (!cancellation->requested() && Clock::now() - read_at < kStallTime) {
        boost::system::error_code ignored;
        timer.expires_after(kLookTime);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        if (stream->empty() || stream->taken() != taken) {
            read_at = Clock::now();
            taken = stream->taken();
        }
        teller->tell_dropped();
    }
    cancellation->on_request(nullptr);
}

}  // namespace

Task<HttpResponse> WatchRoute::watch(HttpRequest request, engine::CancellationPtr cancellation) {
    if (request.method != "GET") {
        co_return refuse_method("GET");
    }
    if (feed_ == nullptr || !request.stream) {
        co_return access::make_refusal(404, "runs cannot be watched here");
    }
    const std::optional<RunFeed::Output> output = read_query(request.query);
    if (!output) {
        co_return access::make_refusal(400, "the only parameter here is output=1 or output=0");
    }
    Teller teller(request.stream, feed_->epoch());
    const bool oversees =
        request.rights.has(access::Right::AuditRead) || request.rights.has(access::Right::Operate);
    const Result<RunFeed::Subscription> subscription = feed_->subscribe(
        request.principal, *output, [&teller](const FeedEvent& event) { teller.tell(event); },
        oversees ? RunFeed::Alerts::All : RunFeed::Alerts::Own);
    if (!subscription) {
        co_return refuse(subscription.error());
    }
    request.stream->open(access::event_stream_head());
    request.stream->put(": connected\n\n");
    if (const std::optional<std::string> last = request.header("Last-Event-ID")) {
        const std::optional<std::uint64_t> number = read_event_id(*last, feed_->epoch());
        RunFeed::Missed missed = feed_->since(request.principal, number.value_or(0));
        missed.complete = missed.complete && number.has_value();
        teller.tell_missed(missed);
    }
    co_await wait_for_end(request.stream, &teller, std::move(cancellation));
    co_return HttpResponse{};
}

}  // namespace belljar::api
