#include "engine/run_feed.h"

#include <algorithm>
#include <boost/json/object.hpp>

#include "base/id.h"
#include "base/json.h"
#include "base/utf8.h"

namespace belljar::engine {
namespace {

constexpr std::size_t kLongestText = 16 * 1024;
constexpr std::size_t kEpochLength = 8;

}  // namespace

RunFeed::RunFeed(Bounds bounds) : bounds_(bounds), epoch_(make_uuid().substr(0, kEpochLength)) {}

RunFeed::Subscription::~Subscription() {
    if (feed_ != nullptr) {
        lane_->watchers.erase(place_);
        --feed_->watchers_;
    }
}

Result<RunFeed::Subscription> RunFeed::subscribe(const std::string& principal, Output output,
                                                 Listener listener, Alerts alerts) {
    if (watchers_ >= bounds_.watchers) {
        return fail(ErrorCode::Overloaded, "as many watch runs here as may");
    }
    const LanePtr lane = lane_of(principal);
    if (lane->watchers.size() >= bounds_.watchers_each) {
        return fail(ErrorCode::QuotaReached, "you watch your runs as often as you may");
    }
    ++watchers_;
    return Subscription(
        *this, lane,
        lane->watchers.insert(lane->watchers.end(), {output, alerts, std::move(listener)}));
}

RunFeed::LanePtr RunFeed::lane_of(const std::string& principal) {
    auto found = lanes_.find(principal);
    if (found == lanes_.end()) {
        if (lanes_.size() >= bounds_.principals) {
            forget_one();
        }
        found = lanes_.emplace(principal, std::make_shared<Lane>()).first;
        found->second->last = forgotten_;
    }
    found->second->used = ++uses_;
    return found->second;
}

// Not one whom a run or a watcher holds on to.
void RunFeed::forget_one() {
    auto oldest = lanes_.end();
    for (auto lane = lanes_.begin(); lane != lanes_.end(); ++lane) {
        const bool older = oldest == lanes_.end() || lane->second->used < oldest->second->used;
        oldest = older && lane->second.use_count() == 1 ? lane : oldest;
    }
    if (oldest != lanes_.end()) {
        forgotten_ = std::max(forgotten_, oldest->second->last);
        lanes_.erase(oldest);
    }
}

RunFeed::Missed RunFeed::since(const std::string& principal, std::uint64_t number) const {
    const auto lane = lanes_.find(principal);
    if (lane == lanes_.end()) {
        return {.complete = number == 0};
    }
    const std::deque<FeedEvent>& remembered = lane->second->remembered;
    const auto later = std::ranges::find_if(
        remembered, [&](const FeedEvent& event) { return event.number > number; });
    const std::uint64_t first = later == remembered.end() ? lane->second->last + 1 : later->number;
    return {.events = {later, remembered.end()}, .complete = number + 1 == first};
}

RunWatch RunFeed::Observation::join(RunWatch watch) {
    return {
        .on_start =
            [self = shared_from_this(), inner = std::move(watch.on_start)](const RunStart& begun) {
                self->start(begun);
                if (inner) {
                    inner(begun);
                }
            },
        .on_output =
            [self = shared_from_this(), inner = std::move(watch.on_output)](
                OutputStream stream, std::string_view bytes) {
                self->write(stream, bytes);
                if (inner) {
                    inner(stream, bytes);
                }
            }};
}

void RunFeed::Observation::start(const RunStart& begun) {
    execution_id_ = begun.execution_id;
    feed_.remember(
        *lane_, "run_started",
        to_text(json::object{{"execution_id", begun.execution_id}, {"language", begun.language}}));
}

void RunFeed::Observation::write(OutputStream stream, std::string_view bytes) {
    if (shows_output(*lane_)) {
        Utf8Stream& characters = characters_[stream == OutputStream::Stdout ? 0 : 1];
        feed_.show(*lane_, execution_id_, stream, characters.take(bytes));
    }
}

void RunFeed::Observation::finish(const Result<execution::RunResult>& result) {
    if (execution_id_.empty()) {
        return;  // refused: there was no run
    }
    json::object data{{"execution_id", execution_id_}, {"success", result && result->success()}};
    data["status"] = nullptr;
    data["exit_code"] = nullptr;
    if (result) {
        data["status"] = execution::name_of(result->status);
        data["wall_seconds"] = to_seconds(result->usage.wall);
    }
    if (result && result->exit_code) {
        data["exit_code"] = *result->exit_code;
    }
    feed_.remember(*lane_, "run_finished", to_text(data));
}

void RunFeed::alert(const std::optional<std::string>& principal, std::string data) {
    const FeedEvent event{.name = "alert", .data = data};
    for (auto& [name, lane] : lanes_) {
        if (principal == name) {
            continue;
        }
        for (const Watcher& watcher : lane->watchers) {
            if (watcher.alerts == Alerts::All) {
                tell(watcher, event);
            }
        }
    }
    if (const auto own = principal ? lanes_.find(*principal) : lanes_.end(); own != lanes_.end()) {
        remember(*own->second, "alert", std::move(data));
    }
}

void RunFeed::tell(const Watcher& watcher, const FeedEvent& event) {
    try {
        watcher.listener(event);
    } catch (...) {
        ++failures_;
    }
}

void RunFeed::remember(Lane& lane, std::string_view name, std::string data) {
    lane.remembered.push_back({.number = ++lane.last, .name = name, .data = std::move(data)});
    if (lane.remembered.size() > bounds_.remembered) {
        lane.remembered.pop_front();
    }
    for (const Watcher& watcher : lane.watchers) {
        tell(watcher, lane.remembered.back());
    }
}

void RunFeed::show(Lane& lane, const std::string& execution_id, OutputStream stream,
                   std::string_view text) {
    while (!text.empty()) {
        const std::string_view part = utf8_beginning(text, kLongestText);
        text.remove_prefix(part.size());
        const FeedEvent event{.name = "run_output",
                              .data = to_text(json::object{{"execution_id", execution_id},
                                                           {"stream", execution::name_of(stream)},
                                                           {"text", part}})};
        for (const Watcher& watcher : lane.watchers) {
            if (watcher.output == Output::Shown) {
                tell(watcher, event);
            }
        }
    }
}

bool RunFeed::shows_output(const Lane& lane) {
    return std::ranges::any_of(
        lane.watchers, [](const Watcher& watcher) { return watcher.output == Output::Shown; });
}

}  // namespace belljar::engine
