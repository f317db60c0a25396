#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "access/rights.h"
#include "mcp/changes.h"
#include "mcp/event_log.h"
#include "mcp/in_flight.h"
#include "mcp/notice_wishes.h"
#include "mcp/questions.h"
#include "mcp/session_stream.h"

namespace belljar::mcp {

// One legacy client over HTTP, from its initialize to its DELETE: what it said of itself, what is
// being answered, and the streams that it hears of things on. Used on the I/O thread only; shared
// by its requests, which may outlive its place in the table.
class HttpSession {
   public:
    struct Description {
        std::string id{};
        std::string principal{};
        Revision revision = kNewestLegacyRevision;
    };

    HttpSession(const asio::any_io_executor& executor, Description description,
                std::shared_ptr<EventBudget> budget, Changes& changes);
    HttpSession(const HttpSession&) = delete;
    HttpSession& operator=(const HttpSession&) = delete;

    [[nodiscard]] const std::string& id() const { return description_.id; }
    [[nodiscard]] const std::string& principal() const { return description_.principal; }
    [[nodiscard]] Revision revision() const { return description_.revision; }
    [[nodiscard]] ConnectionMemory& memory() { return memory_; }
    [[nodiscard]] InFlight& in_flight() { return in_flight_; }
    [[nodiscard]] const QuestionsPtr& questions() const { return questions_; }

    // A message that is not answered: what was asked of the client, or a notification.
    void take(Message message);
    // For a request that came on this connection.
    [[nodiscard]] SessionStreamPtr make_stream(access::ResponseStreamPtr connection);
    // What concerns the session and no request of it.
    [[nodiscard]] const SessionStreamPtr& common_stream() const { return common_; }
    // Nothing if it is gone.
    [[nodiscard]] SessionStreamPtr find_stream(std::uint64_t number) const;

    void touch() { used_ = std::chrono::steady_clock::now(); }
    [[nodiscard]] std::chrono::steady_clock::time_point used() const { return used_; }
    // Whether somebody waits for something here.
    [[nodiscard]] bool is_busy() const;
    // Ends everything that is under way.
    void end();

   private:
    void tell(const Change& change);
    void drop_old_streams();

    asio::any_io_executor executor_;
    Description description_;
    EventLog log_;
    ConnectionMemory memory_;
    InFlight in_flight_;
    QuestionsPtr questions_ = std::make_shared<Questions>();
    SessionStreamPtr common_;
    std::map<std::uint64_t, SessionStreamPtr> streams_;  // those that a client may come back to
    std::uint64_t next_stream_ = 1;
    std::chrono::steady_clock::time_point used_ = std::chrono::steady_clock::now();
    Changes::Subscription changes_;
};

using HttpSessionPtr = std::shared_ptr<HttpSession>;

// All sessions. Bounded: one that nobody has used for a while goes, and when there are too many,
// the one of the same principal, or else of anybody, that was idle for longest.
class HttpSessions {
   public:
    static constexpr std::size_t kMost = 4096;
    static constexpr std::size_t kMostEach = 2048;
    static constexpr auto kIdle = std::chrono::hours(1);

    HttpSessions(asio::any_io_executor executor, Changes& changes)
        : executor_(std::move(executor)), changes_(changes) {}

    // Nothing if all that there can be are busy.
    [[nodiscard]] HttpSessionPtr create(const std::string& principal, Revision revision);
    // Nothing for one of somebody else.
    [[nodiscard]] HttpSessionPtr find(const std::string& principal, const std::string& id);
    void end(const HttpSessionPtr& session);
    void end_all();
    [[nodiscard]] std::size_t count() const { return sessions_.size(); }

   private:
    void end_idle();
    // False if nothing could be removed.
    bool remove_oldest(const std::function<bool(const HttpSession&)>& is_candidate);
    [[nodiscard]] std::size_t count_of(const std::string& principal) const;

    asio::any_io_executor executor_;
    Changes& changes_;
    std::shared_ptr<EventBudget> budget_ = std::make_shared<EventBudget>();
    std::map<std::string, HttpSessionPtr> sessions_;
};

}  // namespace belljar::mcp
