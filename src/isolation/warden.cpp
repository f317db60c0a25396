#include "isolation/warden.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/id.h"
#include "jar/landlock.h"
#include "jar/process_tree.h"
#include "jar/surroundings.h"

namespace belljar::isolation {
namespace {

constexpr std::uint32_t kLowestUser = 65536;
constexpr auto kHandshakeTime = std::chrono::seconds(10);
constexpr auto kFarewellTime = std::chrono::seconds(5);
constexpr auto kCgroupRetry = std::chrono::milliseconds(2);

// What an epoll entry stands for: the three low bits say which descriptor of the jar.
enum class Source : std::uint64_t { Server, Report, Exit, Signal, OutOfMemory };
constexpr unsigned kSourceBits = 3;
constexpr std::uint64_t kSourceMask = (1U << kSourceBits) - 1;

std::uint64_t tag_of(Source source, JarId id) {
    return (id << kSourceBits) | static_cast<std::uint64_t>(source);
}

// Where the warden attaches an image of the system, in a mount namespace of its own. Any directory
// that exists everywhere and that neither warden nor jars use.
constexpr const char* kImagePlace = "/mnt";
constexpr Bytes kSmallestImage = mebibytes(8);

Result<ConfigureMessage> receive_configuration(const Fd& server) {
    pollfd entry{.fd = server.get(), .events = POLLIN, .revents = 0};
    const int limit = static_cast<int>(
        std::chrono::duration_cast<std::chrono::milliseconds>(kHandshakeTime).count());
    if (::poll(&entry, 1, limit) != 1) {
        return fail(system_error("no configuration arrived", ETIMEDOUT));
    }
    BJ_TRY(const Packet packet, jar::receive_packet(server));
    BJ_TRY(const ServerMessage message, decode_server_message(packet.data));
    const auto* configuration = std::get_if<ConfigureMessage>(&message);
    if (configuration == nullptr || configuration->root.back() != '\0' ||
        configuration->tools.back() != '\0' || configuration->scratch.back() != '\0' ||
        configuration->first_user_id < kLowestUser || configuration->user_id_count == 0 ||
        configuration->user_id_count > UINT32_MAX - 1 - configuration->first_user_id) {
        return fail(ErrorCode::InvalidArgument, "the configuration is not usable");
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
    return count == 0 ? 0 : static_cast<uid_t>(std::strtoul(text.c_str(), nullptr, 16) % count);
}

}  // namespace

Result<std::unique_ptr<Warden>> Warden::create(Fd server, const Host& host, const Log& log) {
    BJ_TRY(const ConfigureMessage configuration, receive_configuration(server));
    std::unique_ptr<Warden> warden(new Warden(std::move(server), host, log));
    if (host.mode == jar::Mode::Root) {
        warden->host_.first_user = configuration.first_user_id;
        warden->host_.user_count = configuration.user_id_count;
    }
    BJ_TRY_VOID(warden->prepare(configuration));
    BJ_TRY_VOID(
        send_message(warden->server_, ReadyMessage{.layers = warden->layers(), .mode = host.mode}));
    return warden;
}

Result<void> Warden::prepare(const ConfigureMessage& configuration) {
    init_ = Fd(::open(host_.init.c_str(), O_PATH | O_CLOEXEC));
    if (!init_.valid()) {
        return fail(system_error("open belljar-init beside belljar-warden"));
    }
    if (const std::size_t stale = remove_stale_cgroup_trees(); stale > 0) {
        log_.info("removed cgroups of an earlier life", {{"count", std::int64_t(stale)}});
    }
    const std::vector<pid_t> own{::getpid(), ::getppid(),
                                 static_cast<pid_t>(configuration.server_pid)};
    BJ_TRY(cgroups_, CgroupTree::create(own));
    for (const std::string& problem : cgroups_.problems()) {
        log_.warning("a cgroup hierarchy could not be used", {{"reason", problem}});
    }
    epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_.valid()) {
        return fail(system_error("epoll_create1"));
    }
    next_user_ = random_offset(host_.user_count);
    landlock_abi_ = jar::find_landlock_abi();
    can_deny_write_execute_ = jar::has_write_execute_denial();
    tools_ = configuration.tools;
    BJ_TRY_VOID(prepare_root(configuration));
    prepare_workspaces(configuration);
    if (host_.mode == jar::Mode::Nested) {
        BJ_TRY(scratch_, Scratch::create(configuration.scratch.data()));
        if (::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL) != 0) {
            return fail(system_error("PR_SET_CHILD_SUBREAPER"));
        }
    }
    BJ_TRY_VOID(watch(server_, tag_of(Source::Server, 0)));
    BJ_TRY(signals_, open_signals());
    return watch(signals_, tag_of(Source::Signal, 0));
}

// An image is attached once, where only this process and its jars can see it.
Result<void> Warden::prepare_root(const ConfigureMessage& configuration) {
    if (configuration.root_is_image == 0) {
        root_ = configuration.root;
        return {};
    }
    if (host_.mode != jar::Mode::Root) {
        return fail(ErrorCode::Unsupported, "an image as root needs belljar to start as root");
    }
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
        return fail(system_error("make a mount namespace"));
    }
    BJ_TRY(const WorkspaceImage image, attach_image(configuration.root.data()));
    const std::string device = "/dev/loop" + std::to_string(image.minor);
    if (::mount(device.c_str(), kImagePlace, "erofs", MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr) !=
        0) {
        return fail(system_error("mount the image of the root"));
    }
    BJ_TRY(root_, to_host_path(kImagePlace));
    return {};
}

void Warden::prepare_workspaces(const ConfigureMessage& configuration) {
    // A small one costs little memory and is no file system for ext4.
    small_workspaces_ = configuration.workspace_bytes < kSmallestImage.count;
    if (host_.mode != jar::Mode::Root || small_workspaces_) {
        return;
    }
    Result<WorkspaceImages> images =
        WorkspaceImages::create(configuration.scratch.data(), Bytes{configuration.workspace_bytes});
    if (images) {
        images_ = std::move(*images);
        return;
    }
    // The workspace is then in memory: its size still holds, and counts against the memory limit.
    log_.warning("workspaces are kept in memory", {{"reason", images.error().describe()}});
}

std::uint32_t Warden::layers() const {
    std::uint32_t found = cgroups_.layers() | bit(Layer::NoCapabilities) | bit(Layer::Seccomp);
    found |= landlock_abi_ > 0 ? bit(Layer::Landlock) : 0U;
    found |= host_.user_count > 0 ? bit(Layer::UniqueUser) : 0U;
    if (host_.mode != jar::Mode::Nested) {
        found |= bit(Layer::Namespaces) | bit(Layer::ReadOnlyRoot);
        // In memory the workspace is limited as well, if memory itself is not limited more.
        const bool in_memory = (cgroups_.layers() & bit(Layer::MemoryLimit)) == 0;
        found |= images_.usable() || in_memory || small_workspaces_ ? bit(Layer::DiskQuota) : 0U;
    }
    return found;
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
            switch (static_cast<Source>(tag & kSourceMask)) {
                case Source::Server:
                    BJ_TRY_VOID(on_server_readable());
                    break;
                case Source::Report:
                    on_jar_report(tag >> kSourceBits);
                    break;
                case Source::Exit:
                    on_jar_exit(tag >> kSourceBits);
                    break;
                case Source::OutOfMemory:
                    on_out_of_memory(tag >> kSourceBits);
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
    Result<Packet> packet = jar::receive_packet(server_);
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
    if (order == nullptr || order->reason > KillReason::Memory) {
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
                   {{"step", jar::name_of(step)}, {"reason", launched.error().describe()}});
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
    BJ_TRY_VOID(jar::command_of(message.command));
    const bool known = jars_.contains(message.jar) || (message.jar >> (64 - kSourceBits)) != 0;
    if (fds.size() != kGuestFdCount || known || message.timeout_nanoseconds <= 0 ||
        message.proc > jar::ProcView::Masked || message.write_execute > jar::WriteExecute::Denied) {
        return fail(ErrorCode::InvalidArgument, "a malformed launch message");
    }
    jar::Spec spec{.message = plan_for(message)};
    std::ranges::move(fds, spec.descriptors.begin());
    JarResources resources;
    step = Step::MakeCgroup;
    BJ_TRY(resources.cgroup, cgroups_.make_jar(message.jar, limits_of(message)));
    spec.cgroup_files = resources.cgroup.take_tasks_files();
    step = Step::MakeWorkspace;
    BJ_TRY_VOID(make_workspace(message.jar, spec, resources));
    step = Step::Clone;
    BJ_TRY(Jar jar, Jar::launch(message.jar, spec, Duration(message.timeout_nanoseconds),
                                std::move(resources), init_));
    users_in_use_.insert(spec.message.host_user);
    const auto [place, inserted] = jars_.emplace(message.jar, std::move(jar));
    BJ_TRY_VOID(watch(place->second.exit_fd(), tag_of(Source::Exit, message.jar)));
    if (place->second.oom_fd().valid()) {
        BJ_TRY_VOID(watch(place->second.oom_fd(), tag_of(Source::OutOfMemory, message.jar)));
    }
    return watch(place->second.report_fd(), tag_of(Source::Report, message.jar));
}

jar::SpecMessage Warden::plan_for(const LaunchMessage& message) {
    jar::SpecMessage plan{};
    plan.mode = host_.mode;
    plan.proc = message.proc;
    plan.write_execute =
        can_deny_write_execute_ ? message.write_execute : jar::WriteExecute::Allowed;
    plan.landlock_abi = landlock_abi_;
    plan.own_user = host_.user_count > 0 ? 1 : 0;
    plan.memory_by_process = (cgroups_.layers() & bit(Layer::MemoryLimit)) == 0 ? 1 : 0;
    plan.host_user = next_free_user();
    plan.processes = message.processes;
    plan.memory_bytes = message.memory_bytes;
    plan.tmp_bytes = message.tmp_bytes;
    plan.workspace_bytes = message.workspace_bytes;
    plan.root = root_;
    plan.tools = tools_;
    plan.command = message.command;
    return plan;
}

Result<void> Warden::make_workspace(JarId id, jar::Spec& spec, JarResources& resources) {
    if (host_.mode == jar::Mode::Nested) {
        spec.message.workspace = jar::WorkspaceKind::Directory;
        BJ_TRY(spec.workspace, scratch_.make(id, spec.message.host_user));
    } else if (images_.usable()) {
        spec.message.workspace = jar::WorkspaceKind::Image;
        BJ_TRY(resources.image, images_.make());
        spec.message.loop_minor = resources.image.minor;
    }
    return {};
}

void Warden::on_jar_report(JarId id) {
    const auto found = jars_.find(id);
    if (found == jars_.end() || !found->second.report_fd().valid()) {
        return;
    }
    Result<std::optional<WardenMessage>> news = found->second.on_report();
    if (!news) {
        log_.error("a jar's report could not be read", {{"reason", news.error().describe()}});
        found->second.kill(KillReason::None);
    } else if (*news) {
        std::visit([this](const auto& message) { tell_server(message); }, **news);
    }
}

void Warden::on_out_of_memory(JarId id) {
    if (const auto found = jars_.find(id); found != jars_.end()) {
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second.oom_fd().get(), nullptr);
        found->second.kill(KillReason::Memory);
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
    if (host_.mode == jar::Mode::Nested) {
        clean_up_after(ended_.back());
    }
}

// Where no namespace does it: processes that outlived their init, and files.
void Warden::clean_up_after(const Jar& ended_jar) {
    if (host_.user_count > 0) {
        if (const Result<void> ended = jar::end_processes_of(ended_jar.host_user()); !ended) {
            log_.error("processes of a jar are left", {{"reason", ended.error().describe()}});
        }
    }
    std::vector<pid_t> own;
    for (const auto& [other, jar] : jars_) {
        own.push_back(jar.pid());
    }
    if (const Result<void> ended = jar::end_descendants(own); !ended) {
        log_.error("processes of a jar are left", {{"reason", ended.error().describe()}});
    }
    if (const Result<void> removed = scratch_.remove(ended_jar.id()); !removed) {
        log_.error("files of a jar are left", {{"reason", removed.error().describe()}});
    }
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
    if (host_.user_count == 0) {
        return ::geteuid();
    }
    do {
        next_user_ = (next_user_ + 1) % host_.user_count;
    } while (users_in_use_.contains(host_.first_user + next_user_));
    return host_.first_user + next_user_;
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
