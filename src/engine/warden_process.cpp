#include "engine/warden_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "isolation/warden_messages.h"
#include "jar/seqpacket.h"

namespace belljar::engine {
namespace {

constexpr int kWardenSocket = 3;
constexpr int kStartMilliseconds = 10'000;
constexpr int kStopMilliseconds = 12'000;
constexpr int kSocketBuffer = 4 << 20;

[[noreturn]] void become_keeper(const WardenOptions& options, const Fd& socket) {
    // Standard output belongs to the protocol of `belljar mcp`; the warden has no use for it.
    const int nothing = ::open("/dev/null", O_RDWR);
    if (nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0 || ::dup2(nothing, STDOUT_FILENO) < 0) {
        ::_exit(127);
    }
    const int socket_number = socket.get();
    if (socket_number == kWardenSocket) {
        ::fcntl(socket_number, F_SETFD, 0);
    } else if (::dup2(socket_number, kWardenSocket) < 0) {
        ::_exit(127);
    }
    char name[] = "belljar-keeper";
    std::string mode = options.mode;
    std::string level(name_of(options.log_level));
    char* const arguments[] = {name, mode.data(), level.data(), nullptr};
    char* const environment[] = {nullptr};
    ::execve(options.program.c_str(), arguments, environment);
    ::_exit(127);
}

Result<bool> wait_readable(const Fd& fd, int milliseconds) {
    pollfd entry{.fd = fd.get(), .events = POLLIN, .revents = 0};
    int ready = -1;
    do {
        ready = ::poll(&entry, 1, milliseconds);
    } while (ready < 0 && errno == EINTR);
    if (ready < 0) {
        return fail(system_error("poll"));
    }
    return ready > 0;
}

Result<isolation::ConfigureMessage> configuration_from(const WardenOptions& options) {
    isolation::ConfigureMessage configuration{};
    configuration.first_user_id = options.first_user_id;
    configuration.user_id_count = options.user_id_count;
    configuration.server_pid = static_cast<std::uint32_t>(::getpid());
    configuration.workspace_bytes = options.workspace.count;
    struct stat status{};
    if (!options.root.empty() && ::stat(options.root.c_str(), &status) != 0) {
        return fail(system_error("isolation.root"));
    }
    configuration.root_is_image = S_ISREG(status.st_mode) ? 1 : 0;
    BJ_TRY(configuration.root, isolation::to_host_path(options.root));
    BJ_TRY(configuration.logs, isolation::to_host_path(options.logs));
    BJ_TRY(configuration.scratch, isolation::to_host_path(options.scratch));
    return configuration;
}

Result<isolation::ReadyMessage> shake_hands(const Fd& socket,
                                            const isolation::ConfigureMessage& configuration) {
    BJ_TRY_VOID(isolation::send_message(socket, configuration));
    BJ_TRY(const bool answered, wait_readable(socket, kStartMilliseconds));
    if (!answered) {
        return fail(ErrorCode::Unavailable, "the warden did not answer within 10 seconds");
    }
    BJ_TRY(const isolation::Packet packet, jar::receive_packet(socket));
    if (packet.data.empty()) {
        return fail(ErrorCode::Unavailable,
                    "the warden ended at once; its log line says why, `belljar doctor` what to do");
    }
    BJ_TRY(const isolation::WardenMessage message, isolation::decode_warden_message(packet.data));
    const auto* ready = std::get_if<isolation::ReadyMessage>(&message);
    if (ready == nullptr) {
        return fail(ErrorCode::Internal, "the warden said something unexpected");
    }
    return *ready;
}

// The warden waits for a server that does not listen, but not for ever: nobody looks at the clocks
// of jars meanwhile. Then it takes it for gone.
Result<void> make_room(const jar::SocketPair& sockets) {
    constexpr timeval kSendPatience{.tv_sec = 10, .tv_usec = 0};
    for (const Fd* end : {&sockets.first, &sockets.second}) {
        if (::setsockopt(end->get(), SOL_SOCKET, SO_SNDBUF, &kSocketBuffer,
                         sizeof(kSocketBuffer)) != 0) {
            return fail(system_error("SO_SNDBUF"));
        }
    }
    if (::setsockopt(sockets.second.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendPatience,
                     sizeof(kSendPatience)) != 0) {
        return fail(system_error("SO_SNDTIMEO"));
    }
    return {};
}

}  // namespace

Result<std::string> find_warden() {
    std::array<char, 4096> path{};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    if (length < 0) {
        return fail(system_error("readlink /proc/self/exe"));
    }
    const std::string self(path.data(), static_cast<std::size_t>(length));
    const std::string warden = self.substr(0, self.rfind('/')) + "/belljar-keeper";
    if (::access(warden.c_str(), X_OK) != 0) {
        return fail(ErrorCode::Unavailable,
                    "belljar-keeper is not beside belljar; build or install all programs together");
    }
    return warden;
}

Result<WardenProcess> start_warden(const WardenOptions& options) {
    BJ_TRY(const isolation::ConfigureMessage configuration, configuration_from(options));
    BJ_TRY(jar::SocketPair sockets, jar::make_seqpacket_pair());
    BJ_TRY_VOID(make_room(sockets));
    const pid_t child = ::fork();
    if (child < 0) {
        return fail(system_error("fork"));
    }
    if (child == 0) {
        become_keeper(options, sockets.second);
    }
    sockets.second.reset();
    WardenProcess warden;
    BJ_TRY(warden.keeper, PidFd::open(child));
    warden.socket = std::move(sockets.first);
    Result<isolation::ReadyMessage> ready = shake_hands(warden.socket, configuration);
    if (!ready) {
        warden.socket.reset();
        [[maybe_unused]] const Result<void> stopped = wait_for_warden(warden.keeper);
        return fail(std::move(ready).error());
    }
    warden.layers = ready->layers;
    warden.mode = ready->mode;
    return warden;
}

Result<void> wait_for_warden(const PidFd& keeper) {
    BJ_TRY(const bool ended, wait_readable(keeper.fd(), kStopMilliseconds));
    if (!ended) {
        return fail(ErrorCode::Unavailable, "the warden did not end in time");
    }
    BJ_TRY(const int status, keeper.wait());
    if (status != 0) {
        return fail(ErrorCode::Unavailable, "the warden ended with a failure");
    }
    return {};
}

}  // namespace belljar::engine
