#include "isolation/warden.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/id.h"

namespace belljar::isolation {
namespace {

constexpr std::uint32_t kLowestUser = 65536;
constexpr auto kHandshakeTime = std::chrono::seconds(10);
constexpr auto kFarewellTime = std::chrono::seconds(5);
constexpr auto kCgroupRetry = std::chrono::milliseconds(2);

// What an epoll entry stands for: the two low bits say which descriptor of the jar.
enum class Source : std::uint64_t { Server, Report, Exit, Signal };

std::uint64_t tag_of(Source source, JarId jar) {
    return (jar << 2U) | static_cast<std::uint64_t>(source);
}

constexpr std::uint32_t kAlwaysLayers = static_cast<std::uint32_t>(Layer::Namespaces) |
                                        static_cast<std::uint32_t>(Layer::UniqueUser) |
                                        static_cast<std::uint32_t>(Layer::NoCapabilities) |
                                        static_cast<std::uint32_t>(Layer::ReadOnlyRoot);

Result<ConfigureMessage> receive_configuration(const Fd& server) {
    pollfd entry{.fd = server.get(), .events = POLLIN, .revents = 0};
    const int limit = static_cast<int>(
        std::chrono::duration_cast<std::chrono::milliseconds>(kHandshakeTime).count());
    if (::poll(&entry, 1, limit) != 1) {
        return fail(system_error("no configuration arrived", ETIMEDOUT));
    }
    BJ_TRY(const Packet packet, receive_packet(server));
    BJ_TRY(const ServerMessage message, decode_server_message(packet.data));
    const auto* configuration = std::get_if<ConfigureMessage>(&message);
    if (configuration == nullptr || configuration->first_user_id < kLowestUser ||
        configuration->user_id_count == 0 ||
        configuration->user_id_count > UINT32_MAX - 1 - configuration->first_user_id) {
        return fail(ErrorCode::InvalidArgument, "the range of user ids is not usable");
    }
    return *configuration;
}

Result<Fd> open_signals() {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, kKeeperGone);
    if (::sigprocmask(SIG_BLOCK, &wanted, nullptr) != 0) {
        return fail(system_error("sigprocmask"));
    }
    Fd signals(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals.valid()) {
        return fail(system_error("signalfd"));
    }
    return signals;
}

// Two wardens of one host should not start at the same id.
uid_t random_offset(uid_t count) {
    const std::string text = random_hex(4);
    return static_cast<uid_t>(std::strtoul(text.c_str(), nullptr, 16) % count);
}

}  // namespace

Result<std::unique_ptr<Warden>> Warden::create(Fd server, const Log& log) {
    BJ_TRY(const ConfigureMessage configuration, receive_configuration(server));
    if (const std::size_t stale = remove_stale_cgroup_trees(); stale > 0) {
        log.info("removed cgroups of an earlier life", {{"count", std::int64_t(stale)}});
    }
    const std::vector<pid_t> own{::getpid(), ::getppid(),
                                 static_cast<pid_t>(configuration.server_pid)};
    BJ_TRY(CgroupTree cgroups, CgroupTree::create(own));
    for (const std::string& problem : cgroups.problems()) {
        log.warning("a cgroup hierarchy could not be used", {{"reason", problem}});
    }
    Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll.valid()) {
        return fail(system_error("epoll_create1"));
    }
    const std::uint32_t layers = kAlwaysLayers | cgroups.layers();
    std::unique_ptr<Warden> warden(
        new Warden(std::move(server), std::move(epoll), std::move(cgroups), log));
    warden->first_user_ = configuration.first_user_id;
    warden->user_count_ = configuration.user_id_count;
    warden->next_user_ = random_offset(configuration.user_id_count);
    BJ_TRY_VOID(warden->watch(warden->server_, tag_of(Source::Server, 0)));
    BJ_TRY(warden->signals_, open_signals());
    BJ_TRY_VOID(warden->watch(warden->signals_, tag_of(Source::Signal, 0)));
    BJ_TRY_VOID(send_message(warden->server_, ReadyMessage{.layers = layers}));
    return warden;
}

Result<void> Warden::run() {
    std::array<epoll_event, 64> events{};
    while (!server_gone_ || !jars_.empty() || !ended_.empty()) {
        if (Clock::now() > give_up_) {
            return fail(system_error("jars did not end in time", ETIMEDOUT));
        }
        const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                       wait_milliseconds());
        if (count < 0 && errno != EINTR) {
            return fail(system_error("epoll_wait"));
        }
        for (int index = 0; index < count; ++index) {
            const std::uint64_t tag = events[static_cast<std::size_t>(index)].data.u64;
            switch (static_cast<Source>(tag & 3U)) {
                case Source::Server:
                    BJ_TRY_VOID(on_server_readable());
                    break;
                case Source::Report:
                    on_jar_report(tag >> 2U);
                    break;
                case Source::Exit:
                    on_jar_exit(tag >> 2U);
                    break;
                case Source::Signal:
                    kill_everything();
                    break;
            }
        }
        enforce_deadlines();
        remove_ended_cgroups();
    }
    return cgroups_.remove();
}

Result<void> Warden::watch(const Fd& fd, std::uint64_t tag) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = tag;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0) {
        return fail(system_error("epoll_ctl"));
    }
    return {};
}

int Warden::wait_milliseconds() const {
    if (!ended_.empty()) {
        return static_cast<int>(kCgroupRetry.count());
    }
    TimePoint next = TimePoint::max();
    for (const auto& [id, jar] : jars_) {
        next = std::min(next, jar.deadline());
    }
    if (next == TimePoint::max()) {
        return -1;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

Result<void> Warden::on_server_readable() {
    Result<Packet> packet = receive_packet(server_);
    if (!packet || packet->data.empty()) {
        kill_everything();
        return {};
    }
    BJ_TRY(const ServerMessage message, decode_server_message(packet->data));
    if (const auto* request = std::get_if<LaunchMessage>(&message)) {
        launch(*request, std::move(packet->fds));
        return {};
    }
    const auto* order = std::get_if<KillMessage>(&message);
    if (order == nullptr || order->reason > KillReason::ServerGone) {
        return fail(ErrorCode::InvalidArgument, "a message that makes no sense now");
    }
    if (const auto found = jars_.find(order->jar); found != jars_.end()) {
        found->second.kill(order->reason);
    }
    return {};
}

void Warden::launch(const LaunchMessage& message, std::vector<Fd> fds) {
    Step step = Step::ReadMessage;
    if (const Result<void> launched = try_launch(message, std::move(fds), step); !launched) {
        log_.error("a jar could not be made",
                   {{"step", name_of(step)}, {"reason", launched.error().describe()}});
        tell_server(FailedMessage{
            .jar = message.jar, .step = step, .sys_errno = launched.error().sys_errno});
        if (const auto found = jars_.find(message.jar); found != jars_.end()) {
            // It runs, but nobody would hear of its end.
            found->second.kill(KillReason::Cancelled);
            on_jar_exit(message.jar);
        }
    }
}

Result<void> Warden::try_launch(const LaunchMessage& message, std::vector<Fd> fds, Step& step) {
    JarSpec spec{.id = message.jar, .limits = limits_of(message)};
    BJ_TRY(spec.command, command_of(message));
    const bool known = jars_.contains(message.jar) || (message.jar >> 61U) != 0;
    if (fds.size() != kGuestFdCount || known || message.timeout_nanoseconds <= 0) {
        return fail(ErrorCode::InvalidArgument, "a malformed launch message");
    }
    std::ranges::move(fds, spec.descriptors.begin());
    step = Step::MakeCgroup;
    BJ_TRY(JarCgroup cgroup, cgroups_.make_jar(spec.id, spec.limits));
    step = Step::Clone;
    spec.host_user = next_free_user();
    BJ_TRY(Jar jar, Jar::launch(spec, std::move(cgroup)));
    users_in_use_.insert(spec.host_user);
    const auto [place, inserted] = jars_.emplace(spec.id, std::move(jar));
    BJ_TRY_VOID(watch(place->second.exit_fd(), tag_of(Source::Exit, spec.id)));
    return watch(place->second.report_fd(), tag_of(Source::Report, spec.id));
}

void Warden::on_jar_report(JarId id) {
    const auto found = jars_.find(id);
    if (found == jars_.end() || !found->second.report_fd().valid()) {
        return;
    }
    const Result<bool> started = found->second.on_report();
    if (!started) {
        log_.error("a jar's report could not be read", {{"reason", started.error().describe()}});
        found->second.kill(KillReason::None);
    } else if (*started) {
        tell_server(StartedMessage{.jar = id});
    }
}

void Warden::on_jar_exit(JarId id) {
    const auto found = jars_.find(id);
    if (found == jars_.end()) {
        return;
    }
    Jar jar = std::move(found->second);
    jars_.erase(found);
    if (const Result<void> reaped = jar.on_exit(); !reaped) {
        log_.error("a jar could not be reaped", {{"reason", reaped.error().describe()}});
    }
    if (jar.failure()) {
        tell_server(*jar.failure());
    } else {
        tell_server(jar.outcome());
    }
    ended_.push_back(std::move(jar));
}

void Warden::enforce_deadlines() {
    const TimePoint now = Clock::now();
    for (auto& [id, jar] : jars_) {
        if (jar.deadline() <= now) {
            jar.on_deadline();
        }
    }
}

void Warden::remove_ended_cgroups() {
    std::erase_if(ended_, [this](Jar& jar) {
        if (!jar.remove_cgroup()) {
            return false;
        }
        users_in_use_.erase(jar.host_user());
        return true;
    });
}

void Warden::kill_everything() {
    if (server_gone_) {
        return;
    }
    server_gone_ = true;
    give_up_ = Clock::now() + kFarewellTime;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, server_.get(), nullptr);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, signals_.get(), nullptr);
    for (auto& [id, jar] : jars_) {
        jar.kill(KillReason::ServerGone);
    }
}

// In turn, so that an id rests as long as possible before it is used again, and never while a jar
// that had it is not wholly gone.
uid_t Warden::next_free_user() {
    do {
        next_user_ = (next_user_ + 1) % user_count_;
    } while (users_in_use_.contains(first_user_ + next_user_));
    return first_user_ + next_user_;
}

template <typename Message>
void Warden::tell_server(const Message& message) {
    if (server_gone_) {
        return;
    }
    if (!send_message(server_, message)) {
        kill_everything();
    }
}

}  // namespace belljar::isolation
