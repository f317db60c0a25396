#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "base/log.h"
#include "base/result.h"
#include "base/task.h"
#include "engine/network_counters.h"
#include "execution/raw_exit.h"
#include "isolation/warden_messages.h"

namespace belljar::engine {

// When the run of a jar begins: with the jar, or with start(). Until then it has no clock.
enum class Begin { AtOnce, WhenTold };

// Whether the files of a run outlive it: then its init is given the time to send them.
enum class Files { Dropped, Kept };

// The server's end of the socket to the warden: sends orders, hands each answer to the run that
// waits for it. On the I/O thread only.
class WardenLink {
   public:
    WardenLink(const asio::any_io_executor& executor, Fd socket, const Log& log);

    // Reads the warden's messages until it is gone; then every waiting run fails.
    Task<void> listen();
    [[nodiscard]] bool alive() const { return alive_; }
    // Called once if the warden goes away by itself.
    void on_loss(std::function<void()> handler) { on_loss_ = std::move(handler); }

    // What else a jar gets, as far as it is there.
    struct Belongings {
        Fd courier{};  // init's end of the socket for files
        Fd tools{};    // a pack of them
    };
    // Orders a jar. The descriptors go to the warden and are closed here.
    Result<isolation::JarId> launch(const isolation::Launch& launch,
                                    std::array<Fd, isolation::kGuestFdCount> descriptors,
                                    Begin begin, Belongings belongings);
    Result<isolation::JarId> launch(const isolation::Launch& order,
                                    std::array<Fd, isolation::kGuestFdCount> descriptors,
                                    Begin begin = Begin::AtOnce) {
        return launch(order, std::move(descriptors), begin, Belongings{});
    }
    // Begins the run of a jar that waits. Of the limits only time, memory and processor can still
    // be chosen.
    Result<void> start(isolation::JarId jar, const execution::Limits& limits,
                       Files files = Files::Dropped);
    // Begins the next cell of a session; look() ends it. If it does not end in its time and a
    // little more, the jar does.
    Result<void> begin_cell(isolation::JarId jar, const execution::Limits& limits,
                            Files files = Files::Dropped);
    // Until all that was ordered so far is with the warden, who then hears of a start before what
    // the program did. That is at once unless he is far behind, and not longer than ten seconds.
    Task<void> until_sent();
    // What the cell used; nothing if the jar has ended, of which wait() tells.
    Task<std::optional<execution::RawExit>> look(isolation::JarId jar, TimePoint give_up);
    // For a jar that nobody waits for: what to do at its end, at once if that has been. nullptr
    // leaves the end to wait().
    void on_end(isolation::JarId jar, std::function<void()> handler);
    // What became of a jar that was launched; at the latest at `give_up`, or some time after this
    // process was held up beyond it.
    Task<Result<execution::RawExit>> wait(isolation::JarId jar, TimePoint give_up);
    void kill(isolation::JarId jar, execution::KillReason reason);
    // What to do when a guest of the jar tries something that is refused, for the first time of its
    // kind. Ends with the jar.
    using OnDenied = std::function<void(const execution::DeniedCall&)>;
    void on_denied(isolation::JarId jar, OnDenied handler);

    // Orders an interpreter that forks guests; on_zygote() tells when it is ready, and of its end.
    Result<std::uint32_t> start_zygote(const isolation::Command& command, std::string_view program,
                                       jar::ProcView proc);
    void retire_zygote(std::uint32_t zygote);
    void on_zygote(std::function<void(std::uint32_t, bool)> handler) {
        on_zygote_ = std::move(handler);
    }
    // Closes the socket, upon which the warden kills every jar. Runs that wait are cancelled.
    void close();

   private:
    struct Waiting {
        explicit Waiting(const asio::any_io_executor& executor) : done(executor) {}
        asio::steady_timer done;
        std::optional<Result<execution::RawExit>> outcome;
        std::optional<execution::RawExit> cell;  // what a look has seen
        std::function<void()> on_end;
        TimePoint ordered = Clock::now();
        Duration set_up{};
        std::vector<execution::DeniedCall> denied;
        OnDenied on_denied;
        NetworkCounters network;
    };

    // On its way to the warden, who takes orders one by one.
    struct Outgoing {
        std::vector<std::byte> data;
        std::vector<Fd> fds;
    };

    // Sends at once or, if the socket is full, as soon as it is not. In order.
    Result<void> send_start(isolation::JarId jar, const isolation::StartMessage& message);
    Result<void> post(std::vector<std::byte> data, std::vector<Fd> fds = {});
    Result<void> try_send(const Outgoing& message) const;
    void await_room();
    // All that has come. False if nothing more can.
    bool take_messages();
    using Came = bool (*)(const Waiting&);
    Task<void> await_news(std::shared_ptr<Waiting> waiting, TimePoint give_up, Came came);
    void handle(const isolation::WardenMessage& message, std::vector<Fd> fds);
    void handle_denied(const isolation::DeniedMessage& message);
    void finish(isolation::JarId jar, Result<execution::RawExit> outcome);
    void lose();
    void fail_all(const Error& error);

    asio::any_io_executor executor_;
    asio::posix::stream_descriptor readable_;  // a duplicate, for waiting only
    Fd socket_;
    const Log& log_;
    std::deque<Outgoing> outgoing_;
    std::uint64_t posted_ = 0;  // to outgoing_, ever
    std::uint64_t sent_ = 0;    // from there
    asio::steady_timer progress_;
    std::map<isolation::JarId, std::shared_ptr<Waiting>> waiting_;
    isolation::JarId next_jar_ = 1;
    std::uint32_t next_zygote_ = 1;
    bool alive_ = true;
    std::function<void()> on_loss_;
    std::function<void(std::uint32_t, bool)> on_zygote_;
};

}  // namespace belljar::engine
