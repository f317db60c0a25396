#include "signal_watch.h"

#include <sys/eventfd.h>

namespace belljar::apps {

Result<std::unique_ptr<SignalWatch>> SignalWatch::create() {
    Fd heard(::eventfd(0, EFD_CLOEXEC));
    if (!heard.valid()) {
        return fail(system_error("eventfd"));
    }
    std::unique_ptr<SignalWatch> watch(new SignalWatch(std::move(heard)));
    BJ_TRY_VOID(watch->listen());
    return watch;
}

Result<void> SignalWatch::listen() {
    for (const int number : kEndSignals) {
        boost::system::error_code error;
        signals_.add(number, error);
        if (error) {
            return fail(system_error("listen to signals", error.value()));
        }
    }
    signals_.async_wait([this](const boost::system::error_code& error, int /*number*/) {
        if (!error) {
            ::eventfd_write(heard_.get(), 1);
        }
    });
    thread_ = std::thread([this] { io_.run(); });
    return {};
}

SignalWatch::~SignalWatch() {
    io_.stop();
    if (thread_.joinable()) {
        thread_.join();
    }
}

}  // namespace belljar::apps
