#include "engine/warden_link.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <utility>

#include "jar/syscall_table.h"

namespace belljar::engine {
namespace {

using execution::RawExit;
using isolation::JarId;

Error warden_lost() {
    return Error{.code = ErrorCode::Unavailable,
                 .message = "the part of Belljar that makes jars is gone; the server is stopping"};
}

RawExit to_raw_exit(const isolation::EndedMessage& message) {
    return {.kill_reason = message.kill_reason,
            .exited = message.exited != 0,
            .wait_status = message.wait_status,
            .wall = Duration(message.wall_nanoseconds),
            .cpu = Duration(message.cpu_nanoseconds),
            .memory_peak_bytes = message.memory_peak_bytes,
            .out_of_memory_kills = message.out_of_memory_kills,
            .processes_peak = message.processes_peak,
            .process_limit_hits = message.process_limit_hits,
            .disk_used_bytes = message.disk_used_bytes,
            .disk_full = message.disk_full != 0};
}

// "93.184.216.34:443" or "[2001:db8::1]:443".
std::string to_text(const jar::SocketAddress& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.length == sizeof(sockaddr_in)) {
        sockaddr_in place{};
        std::memcpy(&place, address.bytes.data(), sizeof(place));
        ::inet_ntop(AF_INET, &place.sin_addr, text.data(), text.size());
        return fmt::format("{}:{}", text.data(), ntohs(place.sin_port));
    }
    if (address.length == sizeof(sockaddr_in6)) {
        sockaddr_in6 place{};
        std::memcpy(&place, address.bytes.data(), sizeof(place));
        ::inet_ntop(AF_INET6, &place.sin6_addr, text.data(), text.size());
        return fmt::format("[{}]:{}", text.data(), ntohs(place.sin6_port));
    }
    return {};
}

execution::DeniedCall to_denied_call(const jar::DenialRecord& record) {
    return {.call = std::string(jar::syscall_name(record.number)),
            .sys_errno = record.error,
            .argument = record.key,
            .address = to_text(record.address),
            .count = record.count};
}

// A cell is ended from inside its jar. That takes milliseconds, unless somebody there is in the
// way.
constexpr auto kCellGrace = std::chrono::seconds(3);
constexpr auto kPatience = std::chrono::seconds(10);  // with a warden that takes no orders
// A clock that rings so late did not ring for us: this process was stopped, perhaps with the
// warden.
constexpr auto kHeldUp = std::chrono::seconds(1);
constexpr auto kTimeAfterThat = std::chrono::seconds(30);

isolation::StartMessage make_start(JarId jar, const execution::Limits& limits, Files files) {
    isolation::StartMessage message{};
    message.jar = jar;
    message.timeout_nanoseconds = limits.timeout.count();
    message.memory_bytes = limits.memory.count;
    message.cpu_thousandths = static_cast<std::uint32_t>(limits.cpu * 1000.0);
    message.keeps_files = files == Files::Kept ? 1 : 0;
    return message;
}

}  // namespace

WardenLink::WardenLink(const asio::any_io_executor& executor, Fd socket, const Log& log)
    : executor_(executor),
      readable_(executor, ::fcntl(socket.get(), F_DUPFD_CLOEXEC, 3)),
      socket_(std::move(socket)),
      log_(log),
      progress_(executor, TimePoint::max()) {
    readable_.non_blocking(true);  // of the open file description, so of socket_ too
}

Task<void> WardenLink::listen() {
    while (alive_) {
        boost::system::error_code error;
        co_await readable_.async_wait(asio::posix::descriptor_base::wait_read,
                                      asio::redirect_error(asio::use_awaitable, error));
        if (error) {
            co_return;  // closed
        }
        if (!take_messages()) {
            lose();
            co_return;
        }
    }
}

bool WardenLink::take_messages() {
    while (alive_) {
        Result<isolation::Packet> packet = jar::receive_packet(socket_);
        if (!packet && packet.error().sys_errno == EAGAIN) {
            return true;
        }
        if (!packet || packet->data.empty()) {
            return false;
        }
        const auto message = isolation::decode_warden_message(packet->data);
        if (!message) {
            log_.error("the warden sent nonsense", {{"reason", message.error().describe()}});
            return false;
        }
        handle(*message, std::move(packet->fds));
    }
    return true;
}

Result<JarId> WardenLink::launch(const isolation::Launch& launch,
                                 std::array<Fd, isolation::kGuestFdCount> descriptors, Begin begin,
                                 Belongings belongings) {
    if (!alive_) {
        return fail(warden_lost());
    }
    const JarId jar = next_jar_++;
    BJ_TRY(isolation::LaunchMessage message, isolation::make_launch(jar, launch));
    message.waits = begin == Begin::WhenTold ? 1 : 0;
    std::vector<Fd> fds(std::make_move_iterator(descriptors.begin()),
                        std::make_move_iterator(descriptors.end()));
    if (belongings.courier.valid()) {
        fds.push_back(std::move(belongings.courier));
    }
    if (belongings.tools.valid()) {
        message.has_tools = 1;
        fds.push_back(std::move(belongings.tools));
    }
    BJ_TRY_VOID(post(isolation::encode_message(message), std::move(fds)));
    waiting_.emplace(jar, std::make_shared<Waiting>(executor_));
    return jar;
}

Result<void> WardenLink::start(JarId jar, const execution::Limits& limits, Files files) {
    return send_start(jar, make_start(jar, limits, files));
}

Result<void> WardenLink::begin_cell(JarId jar, const execution::Limits& limits, Files files) {
    isolation::StartMessage message = make_start(jar, limits, files);
    message.timeout_nanoseconds += Duration(kCellGrace).count();
    message.cell = 1;
    return send_start(jar, message);
}

Result<void> WardenLink::send_start(JarId jar, const isolation::StartMessage& message) {
    const auto found = waiting_.find(jar);
    if (!alive_ || found == waiting_.end()) {
        return fail(warden_lost());
    }
    found->second->set_up = Duration{};
    return post(isolation::encode_message(message));
}

Task<std::optional<RawExit>> WardenLink::look(JarId jar, TimePoint give_up) {
    const auto found = waiting_.find(jar);
    if (!alive_ || found == waiting_.end() ||
        !post(isolation::encode_message(isolation::LookMessage{.jar = jar}))) {
        co_return std::nullopt;
    }
    const std::shared_ptr<Waiting> waiting = found->second;
    waiting->cell.reset();
    co_await await_news(waiting, give_up, [](const Waiting& jar_of_cell) {
        return jar_of_cell.cell || jar_of_cell.outcome;
    });
    co_return std::exchange(waiting->cell, std::nullopt);
}

Task<void> WardenLink::await_news(std::shared_ptr<Waiting> waiting, TimePoint give_up, Came came) {
    while (!came(*waiting)) {
        waiting->done.expires_at(give_up);
        boost::system::error_code ignored;
        co_await waiting->done.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        const TimePoint now = Clock::now();
        if (now >= give_up + kHeldUp) {
            give_up = now + kTimeAfterThat;
        } else if (now >= give_up) {
            co_return;
        }
    }
}

void WardenLink::on_end(JarId jar, std::function<void()> handler) {
    const auto found = waiting_.find(jar);
    const bool over = found == waiting_.end() || found->second->outcome;
    if (!over) {
        found->second->on_end = std::move(handler);
    } else if (handler) {
        waiting_.erase(jar);
        handler();
    }
}

Task<Result<RawExit>> WardenLink::wait(JarId jar, TimePoint give_up) {
    const std::shared_ptr<Waiting> waiting = waiting_.at(jar);
    co_await await_news(waiting, give_up,
                        [](const Waiting& ended) { return ended.outcome.has_value(); });
    waiting_.erase(jar);
    if (!waiting->outcome) {
        // A warden that breaks its own deadlines cannot be trusted with another jar.
        log_.error("the warden did not report the end of a jar", {{"jar", std::int64_t(jar)}});
        lose();
        co_return fail(warden_lost());
    }
    co_return std::move(*waiting->outcome);
}

void WardenLink::kill(JarId jar, execution::KillReason reason) {
    if (!alive_) {
        return;
    }
    const isolation::KillMessage message{.jar = jar, .reason = reason};
    if (const Result<void> sent = post(isolation::encode_message(message)); !sent) {
        log_.error("a jar could not be ordered to end; its deadline will end it",
                   {{"reason", sent.error().describe()}});
    }
}

Result<std::uint32_t> WardenLink::start_zygote(const isolation::Command& command,
                                               std::string_view program, jar::ProcView proc) {
    if (!alive_) {
        return fail(warden_lost());
    }
    isolation::ZygoteMessage message{};
    message.zygote = next_zygote_++;
    message.proc = proc;
    BJ_TRY(message.command, jar::to_text(command));
    std::vector<Fd> fds(1);
    BJ_TRY(fds.front(), make_sealed_file("program", program));
    BJ_TRY_VOID(post(isolation::encode_message(message), std::move(fds)));
    return message.zygote;
}

void WardenLink::retire_zygote(std::uint32_t zygote) {
    const isolation::RetireMessage message{.zygote = zygote};
    if (const Result<void> sent = post(isolation::encode_message(message)); !sent) {
        log_.warning("a zygote stays longer than it should", {{"reason", sent.error().describe()}});
    }
}

void WardenLink::close() {
    alive_ = false;
    boost::system::error_code ignored;
    readable_.close(ignored);
    socket_.reset();
    fail_all(Error{.code = ErrorCode::Cancelled, .message = "the server is stopping"});
}

Result<void> WardenLink::post(std::vector<std::byte> data, std::vector<Fd> fds) {
    Outgoing message{.data = std::move(data), .fds = std::move(fds)};
    if (outgoing_.empty()) {
        Result<void> sent = try_send(message);
        if (sent || sent.error().sys_errno != EAGAIN) {
            return sent;
        }
        await_room();
    }
    outgoing_.push_back(std::move(message));
    ++posted_;
    return {};
}

Task<void> WardenLink::until_sent() {
    using asio::experimental::awaitable_operators::operator||;
    if (outgoing_.empty()) {
        co_return;
    }
    asio::steady_timer patience(executor_, kPatience);
    const TimePoint give_up = patience.expiry();
    for (const std::uint64_t last = posted_; alive_ && sent_ < last && Clock::now() < give_up;) {
        boost::system::error_code ignored;
        co_await (progress_.async_wait(asio::redirect_error(asio::use_awaitable, ignored)) ||
                  patience.async_wait(asio::redirect_error(asio::use_awaitable, ignored)));
    }
}

Result<void> WardenLink::try_send(const Outgoing& message) const {
    std::vector<int> numbers;
    for (const Fd& fd : message.fds) {
        numbers.push_back(fd.get());
    }
    return jar::send_packet(socket_, message.data, numbers);
}

void WardenLink::await_room() {
    readable_.async_wait(asio::posix::descriptor_base::wait_write,
                         [this](const boost::system::error_code& closed) {
                             if (closed) {
                                 return;
                             }
                             Result<void> sent;
                             while (!outgoing_.empty() && (sent = try_send(outgoing_.front()))) {
                                 outgoing_.pop_front();
                                 ++sent_;
                             }
                             progress_.cancel();
                             if (outgoing_.empty()) {
                                 return;
                             }
                             if (sent.error().sys_errno == EAGAIN) {
                                 await_room();
                             } else {
                                 lose();
                             }
                         });
}

void WardenLink::on_denied(JarId jar, OnDenied handler) {
    if (const auto found = waiting_.find(jar); found != waiting_.end()) {
        found->second->on_denied = std::move(handler);
    }
}

void WardenLink::handle_denied(const isolation::DeniedMessage& message) {
    const auto found = waiting_.find(message.jar);
    if (found == waiting_.end() || found->second->denied.size() >= jar::DenialTally::kKinds) {
        return;
    }
    const std::shared_ptr<Waiting> waiting = found->second;  // who is told may end it
    waiting->denied.push_back(to_denied_call(message.record));
    if (waiting->on_denied) {
        const execution::DeniedCall call = waiting->denied.back();
        waiting->on_denied(call);
    }
}

void WardenLink::handle(const isolation::WardenMessage& message, std::vector<Fd> fds) {
    if (const auto* started = std::get_if<isolation::StartedMessage>(&message)) {
        if (const auto found = waiting_.find(started->jar); found != waiting_.end()) {
            found->second->set_up = Clock::now() - found->second->ordered;
        }
    } else if (const auto* denied = std::get_if<isolation::DeniedMessage>(&message)) {
        handle_denied(*denied);
    } else if (const auto* network = std::get_if<isolation::NetworkMessage>(&message)) {
        if (const auto found = waiting_.find(network->jar); found != waiting_.end()) {
            found->second->network = NetworkCounters(std::move(fds));
        }
    } else if (const auto* ended = std::get_if<isolation::EndedMessage>(&message)) {
        finish(ended->jar, to_raw_exit(*ended));
    } else if (const auto* seen = std::get_if<isolation::SeenMessage>(&message)) {
        if (const auto found = waiting_.find(seen->cell.jar); found != waiting_.end()) {
            found->second->cell = to_raw_exit(seen->cell);
            found->second->cell->denied = std::exchange(found->second->denied, {});
            found->second->cell->network = found->second->network.read(found->second->cell->denied);
            found->second->done.cancel();
        }
    } else if (const auto* failed = std::get_if<isolation::FailedMessage>(&message)) {
        Error error =
            system_error(fmt::format("jar: {}", jar::name_of(failed->step)), failed->sys_errno);
        error.message = "a jar could not be made";
        log_.error("a jar could not be made",
                   {{"step", jar::name_of(failed->step)}, {"reason", error.describe()}});
        finish(failed->jar, fail(std::move(error)));
    } else if (const auto* state = std::get_if<isolation::ZygoteStateMessage>(&message)) {
        if (on_zygote_) {
            on_zygote_(state->zygote, state->ready == 1);
        }
    }
}

void WardenLink::finish(JarId jar, Result<RawExit> outcome) {
    const auto found = waiting_.find(jar);
    if (found == waiting_.end()) {
        return;
    }
    if (const auto on_end = std::move(found->second->on_end)) {
        waiting_.erase(found);
        on_end();
        return;
    }
    found->second->outcome = std::move(outcome);
    if (*found->second->outcome) {
        RawExit& exit = **found->second->outcome;
        exit.denied = std::move(found->second->denied);
        exit.set_up = found->second->set_up;
        exit.network = found->second->network.read(exit.denied);
        found->second->on_denied = nullptr;
    }
    found->second->done.cancel();
}

void WardenLink::lose() {
    if (!std::exchange(alive_, false)) {
        return;
    }
    fail_all(warden_lost());
    if (on_loss_) {
        on_loss_();
    }
}

void WardenLink::fail_all(const Error& error) {
    progress_.cancel();
    std::vector<std::function<void()>> handlers;
    for (auto& [jar, waiting] : waiting_) {
        if (!waiting->outcome) {
            waiting->outcome = fail(error);
            waiting->done.cancel();
            handlers.push_back(std::move(waiting->on_end));
        }
    }
    for (const auto& handler : handlers) {
        if (handler) {
            handler();
        }
    }
}

}  // namespace belljar::engine
