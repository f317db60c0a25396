#include "service_manager.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>

namespace belljar::apps {
namespace {

std::string take_variable(const char* name) {
    const char* value = std::getenv(name);
    std::string text = value == nullptr ? "" : value;
    ::unsetenv(name);
    return text;
}

std::optional<std::uint64_t> number_of(const std::string& text) {
    std::uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    return !text.empty() && error == std::errc{} && rest == end ? std::optional(number)
                                                                : std::nullopt;
}

// Not valid if there is nobody at that address.
Fd connect_to(const std::string& address) {
    sockaddr_un place{};
    place.sun_family = AF_UNIX;
    if (address.empty() || address.size() >= sizeof(place.sun_path) ||
        (address.front() != '/' && address.front() != '@')) {
        return {};
    }
    std::memcpy(place.sun_path, address.data(), address.size());
    if (address.front() == '@') {
        place.sun_path[0] = '\0';  // a name that is no file
    }
    Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
    if (!socket.valid() ||
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&place), size) != 0) {
        return {};
    }
    return socket;
}

std::uint64_t monotonic_microseconds() {
    constexpr std::uint64_t kInASecond = 1'000'000;
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * kInASecond +
           static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

}  // namespace

ServiceManager ServiceManager::find() {
    ServiceManager manager;
    manager.socket_ = connect_to(take_variable("NOTIFY_SOCKET"));
    const std::optional<std::uint64_t> interval = number_of(take_variable("WATCHDOG_USEC"));
    const std::optional<std::uint64_t> process = number_of(take_variable("WATCHDOG_PID"));
    const bool meant = !process || *process == static_cast<std::uint64_t>(::getpid());
    if (interval && meant) {
        manager.life_ = std::chrono::microseconds(*interval);
    }
    return manager;
}

void ServiceManager::ready(std::string_view status) const {
    tell(fmt::format("READY=1\nSTATUS={}\n", status));
}

void ServiceManager::reloading() const {
    tell(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\n", monotonic_microseconds()));
}

void ServiceManager::stopping() const { tell("STOPPING=1\nSTATUS=Finishing what runs\n"); }

Task<void> ServiceManager::show_life(asio::any_io_executor executor) {
    if (life_ == Duration{} || !socket_.valid()) {
        co_return;
    }
    asio::steady_timer pulse(executor);
    pulse_ = &pulse;
    boost::system::error_code error;
    while (!error) {
        tell("WATCHDOG=1\n");
        pulse.expires_after(life_ / 2);
        co_await pulse.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
    pulse_ = nullptr;
}

void ServiceManager::stop() {
    life_ = Duration{};
    if (pulse_ != nullptr) {
        pulse_->cancel();
    }
}

void ServiceManager::tell(const std::string& lines) const {
    if (socket_.valid()) {
        // Whoever does not listen misses it.
        [[maybe_unused]] const ssize_t sent =
            ::send(socket_.get(), lines.data(), lines.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

}  // namespace belljar::apps
