#include "keeper/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/turns.h"
#include "isolation/host_message.h"
#include "isolation/warden.h"
#include "isolation/warden_messages.h"
#include "jar/landlock.h"
#include "jar/process_tree.h"
#include "jar/seqpacket.h"
#include "jar/surroundings.h"
#include "jar/workspace_image.h"
#include "keeper/cgroup_tree.h"
#include "keeper/launch_mode.h"
#include "keeper/workspace_template.h"

namespace belljar::keeper {
namespace {

using isolation::ConfigureMessage;
using isolation::HostMessage;
using jar::Mode;

constexpr int kFailed = 1;
constexpr int kHandshakeMilliseconds = 10'000;
constexpr std::uint32_t kLowestUser = 65536;
constexpr Bytes kSmallestImage = mebibytes(8);

// Where an image of the system is attached, in a mount namespace of the warden's own. Any directory
// that exists everywhere and that neither warden nor jars use.
constexpr const char* kImagePlace = "/mnt";

bool is_usable(const ConfigureMessage& message) {
    const auto ends = [](const jar::HostPath& path) { return path.back() == '\0'; };
    // The highest number is none: to the kernel it means "leave it as it is".
    const std::uint64_t beyond = std::uint64_t{message.first_user_id} + message.user_id_count;
    return ends(message.root) && ends(message.logs) && ends(message.scratch) &&
           message.first_user_id >= kLowestUser && message.user_id_count > 1 &&
           beyond <= UINT32_MAX;
}

Result<ConfigureMessage> receive_configuration(const Fd& server) {
    pollfd entry{.fd = server.get(), .events = POLLIN, .revents = 0};
    if (::poll(&entry, 1, kHandshakeMilliseconds) != 1) {
        return fail(system_error("no configuration arrived", ETIMEDOUT));
    }
    BJ_TRY(const jar::Packet packet, jar::receive_packet(server));
    if (packet.data.empty()) {
        return fail(system_error("the server is gone", ESRCH));
    }
    BJ_TRY(const isolation::ServerMessage message, isolation::decode_server_message(packet.data));
    const auto* configuration = std::get_if<ConfigureMessage>(&message);
    if (configuration == nullptr || !is_usable(*configuration)) {
        return fail(ErrorCode::InvalidArgument, "the configuration is not usable");
    }
    return *configuration;
}

// An image is attached once, where only the warden and its jars can see it.
Result<void> attach_root_image(const ConfigureMessage& configuration) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
        return fail(system_error("make a mount namespace"));
    }
    const Fd file(::open(configuration.root.data(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) {
        return fail(system_error("open the image of the root"));
    }
    BJ_TRY(const jar::WorkspaceImage image, jar::attach_loop(file, jar::LoopAccess::ReadOnly));
    const std::string device = "/dev/loop" + std::to_string(image.minor);
    if (::mount(device.c_str(), kImagePlace, "erofs", MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr) !=
        0) {
        return fail(system_error("mount the image of the root"));
    }
    return {};
}

// In the process that becomes the warden.
Result<void> enter_place(Mode mode, const ConfigureMessage& configuration, const Fd& keeper) {
    if (configuration.root_is_image != 0 && mode != Mode::Root) {
        return fail(ErrorCode::Unsupported, "an image as root needs belljar to start as root");
    }
    if (mode == Mode::Rootless) {
        return enter_own_namespaces(keeper);
    }
    return configuration.root_is_image != 0 ? attach_root_image(configuration) : Result<void>{};
}

[[noreturn]] void execute_warden(const Options& options, pid_t keeper, const Fd& server,
                                 const Fd& socket) {
    std::string program = options.folder + "belljar-warden";
    std::string level = options.log_level;
    std::string parent = std::to_string(keeper);
    char name[] = "belljar-warden";
    char* const arguments[] = {name, level.data(), parent.data(), nullptr};
    char* const environment[] = {nullptr};
    // The socket first: the place of the other may be where it is now.
    const Fd copy(::fcntl(socket.get(), F_DUPFD_CLOEXEC, isolation::kKeeperSocket + 1));
    if (::dup2(server.get(), isolation::kServerSocket) >= 0 &&
        ::fcntl(isolation::kServerSocket, F_SETFD, 0) == 0 &&
        ::dup2(copy.get(), isolation::kKeeperSocket) >= 0) {
        ::execve(program.c_str(), arguments, environment);
    }
    ::_exit(kFailed);
}

// Everything that the warden will need, as far as it is the same for all jars.
class Preparation {
   public:
    Preparation(const Options& options, const ConfigureMessage& configuration, Mode mode,
                const Log& log)
        : options_(options), configuration_(configuration), mode_(mode), log_(log) {}

    void begin() {
        std::vector<pid_t> own{::getpid(), static_cast<pid_t>(configuration_.server_pid)};
        if (mode_ == Mode::Root && !is_small()) {
            start_template(own);
        }
        if (const std::size_t stale = remove_stale_cgroup_trees(); stale > 0) {
            log_.info("removed cgroups of an earlier life", {{"count", std::int64_t(stale)}});
        }
        cgroups_ = CgroupTree::create(own, cgroup::read_layout());
        for (const std::string& problem : cgroups_.problems()) {
            log_.warning("a cgroup hierarchy could not be used", {{"reason", problem}});
        }
    }

    Result<void> tell(const UserIds& ids, const Fd& warden) {
        BJ_TRY(const HostMessage message, make_message(ids));
        Fd pattern;
        if (template_) {
            BJ_TRY(pattern, template_->take());
        }
        const int number = pattern.get();
        return jar::send_packet(warden, std::as_bytes(std::span(&message, 1)),
                                std::span(&number, pattern.valid() ? 1 : 0));
    }

    [[nodiscard]] CgroupTree& cgroups() { return cgroups_; }

   private:
    [[nodiscard]] bool is_small() const {
        return configuration_.workspace_bytes < kSmallestImage.count;
    }

    // mkfs works while the rest is prepared; who moves aside takes it along.
    void start_template(std::vector<pid_t>& own) {
        Result<WorkspaceTemplate> started = WorkspaceTemplate::start(
            configuration_.scratch.data(), Bytes{configuration_.workspace_bytes});
        if (started) {
            own.push_back(started->process());
            template_.emplace(std::move(*started));
            return;
        }
        // Workspaces are then in memory: their size still holds, and counts against the memory.
        log_.warning("workspaces are kept in memory", {{"reason", started.error().describe()}});
    }

    Result<HostMessage> make_message(const UserIds& ids) const {
        HostMessage message{};
        message.mode = mode_;
        message.first_user = ids.first;
        message.user_count = ids.count;
        message.landlock_abi = jar::find_landlock_abi();
        message.can_deny_execution = jar::has_write_execute_denial() ? 1 : 0;
        message.small_workspaces = is_small() ? 1 : 0;
        BJ_TRY(message.init, isolation::to_host_path(options_.folder + "belljar-init"));
        message.root = configuration_.root;
        if (configuration_.root_is_image != 0) {
            BJ_TRY(message.root, isolation::to_host_path(kImagePlace));
        }
        message.logs = configuration_.logs;
        message.scratch = configuration_.scratch;
        for (const std::string& path : cgroups_.paths()) {
            if (message.tree_count == isolation::kMostTrees) {
                return fail(ErrorCode::Internal, "too many cgroup hierarchies");
            }
            BJ_TRY(message.trees[message.tree_count++], isolation::to_host_path(path));
        }
        return message;
    }

    const Options& options_;
    const ConfigureMessage& configuration_;
    Mode mode_;
    const Log& log_;
    CgroupTree cgroups_;
    std::optional<WorkspaceTemplate> template_;
};

Result<UserIds> ids_for(Mode mode, const ConfigureMessage& configuration, pid_t warden,
                        const Fd& socket) {
    switch (mode) {
        case Mode::Root:
            // The first is the root of the nursery.
            return UserIds{.first = configuration.first_user_id + 1,
                           .count = configuration.user_id_count - 1};
        case Mode::Rootless:
            return give_ids(warden, socket);
        case Mode::Nested:
            return ids_of_nested();
    }
    return UserIds{};
}

// Until the warden has ended, and then everything that it leaves: its jars die with it, but where
// they have no pid namespace, not what the guests in them started. Returns the exit code.
int wait_for(pid_t warden, Mode mode, const Log& log) {
    int status = 0;
    while (::waitpid(warden, &status, 0) < 0 && errno == EINTR) {
    }
    const Result<void> ended =
        mode == Mode::Nested ? jar::end_descendants({}) : jar::end_and_reap_descendants();
    if (!ended) {
        log.error("processes are left", {{"reason", ended.error().describe()}});
        return kFailed;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
}

// From here on the kernel tells the warden if the keeper dies. It waits with that until the warden
// listens: its first act may be to clean up.
bool ask_for_news(pid_t keeper) {
    sigset_t news;
    sigemptyset(&news);
    sigaddset(&news, isolation::kKeeperGone);
    return ::sigprocmask(SIG_BLOCK, &news, nullptr) == 0 &&
           ::prctl(PR_SET_PDEATHSIG, isolation::kKeeperGone, 0UL, 0UL, 0UL) == 0 &&
           ::getppid() == keeper;
}

Result<int> prepare_and_wait(Fd server, const Options& options, const Log& log) {
    BJ_TRY(const ConfigureMessage configuration, receive_configuration(server));
    BJ_TRY(const Mode mode, choose_mode(options.mode));
    BJ_TRY(jar::SocketPair sockets, jar::make_seqpacket_pair());
    Preparation preparation(options, configuration, mode, log);
    preparation.begin();
    const pid_t keeper = ::getpid();
    const pid_t warden = ::fork();
    if (warden < 0) {
        const Error reason = system_error("fork");
        BJ_TRY_VOID(preparation.cgroups().remove());
        return fail(reason);
    }
    if (warden == 0) {
        sockets.first.reset();
        const Result<void> entered = enter_place(mode, configuration, sockets.second);
        if (!entered) {
            log.error("the warden has no place", {{"reason", entered.error().describe()}});
            ::_exit(kFailed);
        }
        ask_for_short_turns();
        // Not before: a new user namespace may forget it.
        if (!ask_for_news(keeper)) {
            ::_exit(kFailed);
        }
        execute_warden(options, keeper, server, sockets.second);
    }
    server.reset();
    sockets.second.reset();
    Result<UserIds> ids = ids_for(mode, configuration, warden, sockets.first);
    Result<void> told = ids ? preparation.tell(*ids, sockets.first) : fail(ids.error());
    if (!told) {
        log.error("the warden could not be told what to do", {{"reason", told.error().describe()}});
        ::kill(warden, SIGKILL);
    }
    // Our end of the socket stays open: its end tells the warden that we have died.
    const int code = wait_for(warden, mode, log);
    BJ_TRY_VOID(preparation.cgroups().remove());
    return code;
}

}  // namespace

int keep(Fd server, const Options& options, const Log& log) {
    ::prctl(PR_SET_NAME, "belljar-keeper", 0UL, 0UL, 0UL);
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL) != 0) {
        return kFailed;
    }
    const Result<int> code = prepare_and_wait(std::move(server), options, log);
    if (!code) {
        log.error("no jars can be made here",
                  {{"mode", options.mode}, {"reason", code.error().describe()}});
        return kFailed;
    }
    return *code;
}

int clean_up(const Log& log) {
    if (const std::size_t stale = remove_stale_cgroup_trees(); stale > 0) {
        log.info("removed the cgroups of a keeper that died", {{"count", std::int64_t(stale)}});
    }
    return kFailed;
}

}  // namespace belljar::keeper
