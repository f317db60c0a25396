#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "base/task.h"
#include "transport/http_client.h"
#include "transport/key_fetcher.h"

namespace belljar::transport {

// Posts short JSON texts to one address, one after the other, each signed with the time of its
// sending. What the other side does not take is tried again for a while; what does not fit into the
// queue is counted and let go. On the I/O thread; borrows the log.
class WebhookSender {
   public:
    struct Options {
        std::string url{};
        std::string secret{};
        std::size_t capacity = 256;
        std::size_t attempts = 8;
        Duration first_pause = std::chrono::milliseconds(500);  // doubled each time
        Duration longest_pause = std::chrono::seconds(60);
        Duration trial = std::chrono::seconds(10);  // of one attempt
    };
    struct Figures {
        std::uint64_t sent = 0;
        std::uint64_t given_up = 0;
        std::uint64_t dropped = 0;  // because the queue was full
        std::size_t waiting = 0;
    };

    // Refuses what is no address, http to anything but this machine, and an empty secret.
    static Result<std::unique_ptr<WebhookSender>> create(asio::any_io_executor executor,
                                                         Options options, const Log& log);

    void put(std::string body);
    [[nodiscard]] Figures figures() const;
    // Until stop().
    Task<void> run();
    void stop();

   private:
    WebhookSender(asio::any_io_executor executor, Options options, const KeyAddress& address,
                  const Log& log);
    [[nodiscard]] ClientRequest request_for(const std::string& body) const;
    Task<bool> deliver(std::string body);
    Task<void> rest(Duration time);

    asio::any_io_executor executor_;
    Options options_;
    ServerAddress address_;
    std::string target_;
    const Log& log_;
    asio::steady_timer timer_;
    asio::steady_timer stopped_;
    std::deque<std::string> queue_;
    Figures figures_;
    bool idle_ = false;
    bool stopping_ = false;
};

}  // namespace belljar::transport
