#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <memory>
#include <thread>

#include "base/fd.h"
#include "base/result.h"
#include "base/task.h"

namespace belljar::apps {

// What asks a program to end.
inline constexpr std::array<int, 3> kEndSignals{SIGINT, SIGTERM, SIGHUP};

// Hears of these signals on a thread of its own, beside whoever else listens to them: the I/O
// thread does not while it waits for the reader of standard output. To be made while the runtime
// listens, or a signal before that is heard by nobody else.
class SignalWatch {
   public:
    static Result<std::unique_ptr<SignalWatch>> create();
    ~SignalWatch();
    SignalWatch(const SignalWatch&) = delete;
    SignalWatch& operator=(const SignalWatch&) = delete;

    // Can be read from the first signal on.
    [[nodiscard]] const Fd& heard() const { return heard_; }

   private:
    explicit SignalWatch(Fd heard) : heard_(std::move(heard)), signals_(io_) {}
    Result<void> listen();

    Fd heard_;
    asio::io_context io_;
    asio::signal_set signals_;
    std::thread thread_;
};

}  // namespace belljar::apps
