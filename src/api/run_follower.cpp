#include "api/run_follower.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/object.hpp>
#include <utility>
#include <vector>

#include "access/event_stream.h"
#include "access/gate.h"
#include "api/refusals.h"
#include "base/clock.h"
#include "base/json.h"

namespace belljar::api {
namespace {

using access::HttpResponse;
using access::ResponseStreamPtr;
using engine::FeedEvent;
using engine::RunFeed;

// A caller that has something to read and reads nothing for this long is sent away.
constexpr auto kStallTime = std::chrono::seconds(60);
constexpr auto kLookTime = std::chrono::seconds(1);
// What is remembered of a run is there a moment after its end was told.
constexpr auto kRecordTime = std::chrono::milliseconds(50);
constexpr int kRecordTries = 100;

}  // namespace

// Puts what the feed tells of one run into the stream of one caller. What happens before the stream
// is open waits for that.
class RunTeller {
   public:
    RunTeller(ResponseStreamPtr stream, std::string execution_id)
        : stream_(std::move(stream)), execution_id_(std::move(execution_id)) {}

    void on_end(std::function<void()> ended) { on_end_ = std::move(ended); }
    [[nodiscard]] bool started() const { return started_; }
    [[nodiscard]] bool ended() const { return ended_; }
    void end() {
        ended_ = true;
        if (on_end_) {
            on_end_();
        }
    }

    void tell(const FeedEvent& event) {
        if (!event.name.starts_with("run_")) {
            return;
        }
        const Result<json::value> data = parse_json(event.data);
        const json::object* object = data ? data->if_object() : nullptr;
        const json::value* id = object == nullptr ? nullptr : object->if_contains("execution_id");
        if (id == nullptr || *id != json::value(execution_id_)) {
            return;
        }
        if (!stream_->is_open()) {
            keep(event, *object);
        } else if (event.name == "run_started") {
            start(object->at("language"));
        } else if (event.name == "run_output") {
            show(*object);
        } else if (event.name == "run_finished") {
            end();
        }
    }

    // `run` as it was found, which may be older than what has been kept.
    void open(const execution::RunView& run) {
        stream_->open(access::event_stream_head());
        if (run.state != execution::RunState::Queued) {
            start(json::value(run.language));
        }
        const std::uint64_t left_out = std::exchange(dropped_, 0);
        for (const FeedEvent& event : std::exchange(kept_, {})) {
            tell(event);
        }
        dropped_ += left_out;
    }

    void finish(const Result<execution::RunRecord>& record) {
        tell_dropped();
        if (record && record->result) {
            stream_->put(
                access::format_event({.id = next_id(), .name = "result", .data = *record->result}));
            return;
        }
        const std::string reason =
            record ? record->view.failure.value_or("the run has no result") : "the run is gone";
        put("error", {{"error", reason}, {"status", record ? 503 : 404}});
    }

   private:
    // Output as far as it fits; there is one beginning and one end.
    void keep(const FeedEvent& event, const json::object& data) {
        const std::size_t size = kept_size_ + event.data.size();
        const bool fits = dropped_ == 0 && size <= access::ResponseStream::kCapacity.count;
        if (event.name == "run_output" && !fits) {
            dropped_ += data.at("text").as_string().size();
            return;
        }
        kept_size_ = size;
        kept_.push_back(event);
    }

    void start(const json::value& language) {
        if (!started_) {
            started_ = true;
            put("started", {{"execution_id", execution_id_}, {"language", language}});
        }
    }

    void show(const json::object& data) {
        const std::string text(data.at("text").as_string());
        if (!tell_dropped() || !stream_->offer(access::format_event(
                                   {.id = next_id(),
                                    .name = std::string(data.at("stream").as_string()),
                                    .data = to_text(json::object{{"text", text}})}))) {
            dropped_ += text.size();
        }
    }

    bool tell_dropped() {
        if (dropped_ > 0 && stream_->offer(access::format_event(
                                {.id = next_id(),
                                 .name = "dropped",
                                 .data = to_text(json::object{{"bytes", dropped_}})}))) {
            dropped_ = 0;
        }
        return dropped_ == 0;
    }

    void put(std::string_view name, const json::object& data) {
        stream_->put(access::format_event(
            {.id = next_id(), .name = std::string(name), .data = to_text(data)}));
    }

    std::string next_id() { return std::to_string(++events_); }

    ResponseStreamPtr stream_;
    std::string execution_id_;
    std::function<void()> on_end_;
    std::vector<FeedEvent> kept_;
    std::size_t kept_size_ = 0;
    std::uint64_t events_ = 0;
    std::uint64_t dropped_ = 0;
    bool started_ = false;
    bool ended_ = false;
};

Task<HttpResponse> RunFollower::follow(Call call) {
    const ResponseStreamPtr stream = call.request.stream;
    const std::string id = call.path_value("run_id");
    if (call.request.method != "GET") {
        co_return refuse_method("GET");
    }
    if (feed_ == nullptr || !stream) {
        co_return access::make_refusal(404, "runs cannot be watched here");
    }
    // Listens before it looks, so that no end can be missed in between.
    RunTeller teller(stream, id);
    const Result<RunFeed::Subscription> subscription =
        feed_->subscribe(call.request.principal, RunFeed::Output::Shown,
                         [&teller](const FeedEvent& event) { teller.tell(event); });
    if (!subscription) {
        co_return refuse(subscription.error());
    }
    Result<execution::RunRecord> record =
        co_await executor_.runs().find(call.request.principal, id);
    if (!record) {
        co_return refuse(record.error());
    }
    teller.open(record->view);
    if (record->view.state != execution::RunState::Ended) {
        co_await wait_for_end(&call, &teller);
        if (!teller.ended()) {
            co_return HttpResponse{};
        }
        record = co_await await_record(call.request.principal, id);
    }
    teller.finish(record);
    co_return HttpResponse{};
}

Task<void> RunFollower::wait_for_end(const Call* call, RunTeller* teller) {
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    call->cancellation->on_request([&timer] { timer.cancel(); });
    teller->on_end([&timer] { timer.cancel(); });
    TimePoint read_at = Clock::now();
    std::uint64_t taken = 0;
    const ResponseStreamPtr stream = call->request.stream;
    while (!teller->ended() && !call->cancellation->requested() &&
           Clock::now() - read_at < kStallTime) {
        boost::system::error_code ignored;
        timer.expires_after(kLookTime);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        if (stream->empty() || stream->taken() != taken) {
            read_at = Clock::now();
            taken = stream->taken();
        }
        if (!teller->started()) {
            // One that is refused while it waits for its place never begins, and nobody tells.
            const Result<execution::RunRecord> record =
                co_await executor_.runs().find(call->request.principal, call->path_value("run_id"));
            if (!record || record->view.state == execution::RunState::Ended) {
                teller->end();
            }
        }
    }
    teller->on_end(nullptr);
    call->cancellation->on_request(nullptr);
}

Task<Result<execution::RunRecord>> RunFollower::await_record(std::string principal,
                                                             std::string id) {
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor);
    Result<execution::RunRecord> record = co_await executor_.runs().find(principal, id);
    for (int tries = 1;
         tries < kRecordTries && record && record->view.state != execution::RunState::Ended;
         ++tries) {
        boost::system::error_code ignored;
        timer.expires_after(kRecordTime);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        record = co_await executor_.runs().find(principal, id);
    }
    co_return record;
}

}  // namespace belljar::api
