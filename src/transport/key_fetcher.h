#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <string>

#include "access/key_set.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "base/task.h"
#include "transport/http_client.h"

namespace belljar::transport {

// An address that keys are fetched from, in its parts.
struct KeyAddress {
    enum class Scheme { Http, Https };

    Scheme scheme = Scheme::Https;
    std::string host{};
    std::string port{};
    std::string target{};  // path and query

    // Refuses what is no such address, and http to anything but a name of this machine.
    static Result<KeyAddress> parse(const std::string& url);

    [[nodiscard]] ServerAddress server() const;
};

// Keys of an authorization server, fetched in the background: from time to time, and when a token
// names an unknown one, but not more often than every few seconds. What cannot be fetched leaves
// the keys as they are, until they are too old. Borrows the log.
class KeyFetcher final : public access::KeySource {
   public:
    struct Times {
        Duration refresh = std::chrono::minutes(10);
        Duration pause = std::chrono::seconds(5);    // between two tries
        Duration trial = std::chrono::seconds(10);   // of one try
        Duration lifetime = std::chrono::hours(24);  // of keys that are not confirmed
    };

    KeyFetcher(asio::any_io_executor executor, KeyAddress address, Times times, const Log& log);

    [[nodiscard]] const access::KeySet& keys() override;
    bool ask_for_newer() override;

    // One try, which takes a bounded time. What went wrong is in the log.
    Task<void> fetch();
    // Keeps the keys fresh until stop().
    Task<void> run();
    void stop();

   private:
    Task<Result<std::string>> download(TimePoint deadline);

    KeyAddress address_;
    Times times_;
    const Log& log_;
    asio::steady_timer timer_;
    asio::steady_timer stopped_;  // runs until stop()
    access::KeySet keys_;
    TimePoint fetched_{};
    TimePoint tried_{};
    bool wanted_ = false;
    bool fetching_ = false;
    bool stopping_ = false;
};

}  // namespace belljar::transport
