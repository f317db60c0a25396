#include "mcp/http_session.h"

#include <algorithm>

#include "base/id.h"
#include "mcp/listen.h"

namespace belljar::mcp {
namespace {

// The stream of what concerns no request.
constexpr std::uint64_t kCommonStream = 0;
// Of requests that are answered, whose client may not have got the answer.
constexpr std::size_t kMostOldStreams = 32;

SessionStream::Priming priming_of(Revision revision) {
    return revision >= Revision::V2025_11_25 ? SessionStream::Priming::With
                                             : SessionStream::Priming::Without;
}

bool is_idle(const HttpSession& session) {
    return std::chrono::steady_clock::now() - session.used() > HttpSessions::kIdle;
}

}  // namespace

HttpSession::HttpSession(const asio::any_io_executor& executor, Description description,
                         std::shared_ptr<EventBudget> budget, Changes& changes)
    : executor_(executor),
      description_(std::move(description)),
      log_(std::move(budget)),
      common_(std::make_shared<SessionStream>(executor, kCommonStream, log_,
                                              priming_of(description_.revision))),
      changes_(changes.listen([this](const Change& change) { tell(change); })) {}

void HttpSession::take(Message message) {
    if (message.kind == Message::Kind::Response) {
        questions_->take(std::move(message));
        return;
    }
    const json::value* id = message.params.if_contains("requestId");
    if (message.method == "notifications/cancelled" && id != nullptr) {
        in_flight_.cancel(*id);
    }
}

SessionStreamPtr HttpSession::make_stream(access::ResponseStreamPtr connection) {
    drop_old_streams();
    auto stream =
        std::make_shared<SessionStream>(executor_, next_stream_++, log_, priming_of(revision()));
    stream->attach(std::move(connection));
    streams_.emplace(stream->number(), stream);
    return stream;
}

SessionStreamPtr HttpSession::find_stream(std::uint64_t number) const {
    if (number == kCommonStream) {
        return common_;
    }
    const auto found = streams_.find(number);
    return found != streams_.end() ? found->second : nullptr;
}

bool HttpSession::is_busy() const { return !in_flight_.empty() || common_->is_attached(); }

void HttpSession::end() {
    in_flight_.cancel_all();
    common_->close();
    for (const auto& [number, stream] : streams_) {
        stream->close();
    }
}

// Kept for a client that was here and may come back; one that never listened hears of nothing.
void HttpSession::tell(const Change& change) {
    if (!common_->has_begun() || !change.concerns(principal())) {
        return;
    }
    if (const std::optional<std::string> message = legacy_notification(change, memory_)) {
        common_->tell(*message);
    }
}

void HttpSession::drop_old_streams() {
    std::size_t over = static_cast<std::size_t>(
        std::ranges::count_if(streams_, [](const auto& entry) { return entry.second->is_over(); }));
    for (auto entry = streams_.begin(); entry != streams_.end() && over > kMostOldStreams;) {
        if (entry->second->is_over()) {
            entry = streams_.erase(entry);
            --over;
        } else {
            ++entry;
        }
    }
}

HttpSessionPtr HttpSessions::create(const std::string& principal, Revision revision) {
    end_idle();
    const auto is_mine = [&principal](const HttpSession& session) {
        return session.principal() == principal;
    };
    if (count_of(principal) >= kMostEach && !remove_oldest(is_mine)) {
        return nullptr;
    }
    if (sessions_.size() >= kMost && !remove_oldest([](const HttpSession&) { return true; })) {
        return nullptr;
    }
    auto session = std::make_shared<HttpSession>(
        executor_,
        HttpSession::Description{
            .id = random_hex(16), .principal = principal, .revision = revision},
        budget_, changes_);
    sessions_.emplace(session->id(), session);
    return session;
}

HttpSessionPtr HttpSessions::find(const std::string& principal, const std::string& id) {
    const auto found = sessions_.find(id);
    if (found == sessions_.end() || found->second->principal() != principal) {
        return nullptr;
    }
    const HttpSessionPtr session = found->second;
    if (!session->is_busy() && is_idle(*session)) {
        end(session);
        return nullptr;
    }
    session->touch();
    return session;
}

void HttpSessions::end(const HttpSessionPtr& session) {
    sessions_.erase(session->id());
    session->end();
}

void HttpSessions::end_all() {
    const auto sessions = std::exchange(sessions_, {});
    for (const auto& [id, session] : sessions) {
        session->end();
    }
}

void HttpSessions::end_idle() {
    while (remove_oldest(is_idle)) {
    }
}

bool HttpSessions::remove_oldest(const std::function<bool(const HttpSession&)>& is_candidate) {
    HttpSessionPtr oldest;
    for (const auto& [id, session] : sessions_) {
        if (!session->is_busy() && is_candidate(*session) &&
            (oldest == nullptr || session->used() < oldest->used())) {
            oldest = session;
        }
    }
    if (oldest == nullptr) {
        return false;
    }
    end(oldest);
    return true;
}

std::size_t HttpSessions::count_of(const std::string& principal) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        sessions_, [&](const auto& entry) { return entry.second->principal() == principal; }));
}

}  // namespace belljar::mcp
