#include "isolation/warden.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/id.h"
#include "jar/device_tree.h"
#include "jar/landlock.h"
#include "jar/process_tree.h"

namespace belljar::isolation {
namespace {

constexpr auto kFarewellTime = std::chrono::seconds(5);
constexpr std::size_t kMostZygotes = 64;
constexpr auto kRemovalRetry = std::chrono::milliseconds(2);
constexpr std::size_t kRemovedAtOnce = 1000;  // files, of some microseconds each

// What an epoll entry stands for: the three low bits say which descriptor of the jar.
enum class Source : std::uint64_t {
    Server,
    Signal,
    ZygoteAnswer,
    ZygoteExit,
    Report,
    Exit,
    OutOfMemory,
    Guest
};
constexpr Source kFirstOfJar = Source::Report;
constexpr unsigned kSourceBits = 3;
constexpr std::uint64_t kSourceMask = (1U << kSourceBits) - 1;

std::uint64_t tag_of(Source source, JarId id) {
    return (id << kSourceBits) | static_cast<std::uint64_t>(source);
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

bool is_guest_of(const LaunchMessage& message) {
    return message.zygote != 0 ? message.guest == jar::GuestKind::Fork
                               : message.guest == jar::GuestKind::Program ||
                                     message.guest == jar::GuestKind::Launcher;
}

}  // namespace

Result<std::unique_ptr<Warden>> Warden::create(Fd server, const Fd& keeper, const Log& log) {
    std::unique_ptr<Warden> warden(new Warden(std::move(server), log));
    BJ_TRY(Packet packet, jar::receive_packet(keeper));
    BJ_TRY_VOID(warden->take_over(std::move(packet)));
    BJ_TRY_VOID(send_message(warden->server_,
                             ReadyMessage{.layers = warden->layers(), .mode = warden->host_.mode}));
    return warden;
}

// After a message that made no sense, jars may still run: where no namespace ends them with us,
// they would write into the directories that are removed next.
Warden::~Warden() {
    if (host_.mode == jar::Mode::Nested) {
        [[maybe_unused]] const Result<void> ended = jar::end_descendants({});
    }
}

Result<void> Warden::take_over(Packet packet) {
    if (packet.data.size() != sizeof(host_)) {
        return fail(system_error("the keeper said nothing", ESRCH));
    }
    std::memcpy(&host_, packet.data.data(), sizeof(host_));
    if (host_.tree_count > kMostTrees) {
        return fail(ErrorCode::InvalidArgument, "more cgroup trees than there is room for");
    }
    if (!packet.fds.empty()) {
        BJ_TRY(template_, jar::ImagePattern::read(packet.fds.front()));
    }
    std::vector<std::string> trees;
    for (std::size_t index = 0; index < host_.tree_count; ++index) {
        trees.emplace_back(host_.trees[index].data());
    }
    cgroups_ = cgroup::JarCgroups(trees);
    next_user_ = random_offset(host_.user_count);
    init_ = Fd(::open(host_.init.data(), O_PATH | O_CLOEXEC));
    epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
    if (!init_.valid() || !epoll_.valid()) {
        return fail(system_error(init_.valid() ? "epoll_create1" : "open belljar-init"));
    }
    if (host_.mode == jar::Mode::Nested) {
        BJ_TRY(scratch_, Scratch::create(host_.scratch.data()));
        if (::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL) != 0) {
            return fail(system_error("PR_SET_CHILD_SUBREAPER"));
        }
    } else {
        BJ_TRY_VOID(start_nursery());
    }
    BJ_TRY_VOID(watch(server_, tag_of(Source::Server, 0)));
    BJ_TRY(signals_, open_signals());
    return watch(signals_, tag_of(Source::Signal, 0));
}

Result<void> Warden::start_nursery() {
    if (host_.mode == jar::Mode::Rootless) {
        BJ_TRY(nursery_, jar::Nursery::start(init_, {}, -1));
        return {};
    }
    BJ_TRY_VOID(jar::enter_private_directory());
    const uid_t root = host_.first_user - 1;
    BJ_TRY(const Fd cgroup, cgroups_.make_nursery(root));
    BJ_TRY(nursery_, jar::Nursery::start(init_, {.first = root, .count = host_.user_count + 1},
                                         cgroup.get()));
    return {};
}

std::uint32_t Warden::layers() const {
    std::uint32_t found = cgroups_.layers() | bit(Layer::NoCapabilities) | bit(Layer::Seccomp);
    const bool fenced = jar::is_fence(host_.landlock_abi, host_.mode, host_.user_count > 0);
    found |= fenced ? bit(Layer::Landlock) : 0U;
    found |= host_.user_count > 0 ? bit(Layer::UniqueUser) : 0U;
    if (host_.mode != jar::Mode::Nested || host_.user_count > 0) {
        // By RLIMIT_NPROC, if not by a cgroup: it counts by user id and user namespace.
        found |= bit(Layer::ProcessLimit);
    }
    if (host_.mode != jar::Mode::Nested) {
        found |= bit(Layer::Namespaces) | bit(Layer::ReadOnlyRoot);
        // In memory the workspace is limited as well, if memory itself is not limited more.
        const bool in_memory = (cgroups_.layers() & bit(Layer::MemoryLimit)) == 0;
        found |= template_ || in_memory || host_.small_workspaces == 1 ? bit(Layer::DiskQuota) : 0U;
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
            const auto source = static_cast<Source>(tag & kSourceMask);
            if (source >= kFirstOfJar) {
                BJ_TRY_VOID(hear_of_start(tag >> kSourceBits));
            }
            switch (source) {
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
                case Source::Guest:
                    on_guest_exit(tag >> kSourceBits);
                    break;
                case Source::ZygoteAnswer:
                    on_zygote_answer(static_cast<std::uint32_t>(tag >> kSourceBits));
                    break;
                case Source::ZygoteExit:
                    on_zygote_exit(static_cast<std::uint32_t>(tag >> kSourceBits));
                    break;
            }
        }
        enforce_deadlines();
        remove_ended();
        let_retired_go();
    }
    return {};
}

// The server tells of a start before it gives the guest its program. So that is heard before
// anything that the guest has done.
Result<void> Warden::hear_of_start(JarId id) {
    for (auto jar = jars_.find(id);
         jar != jars_.end() && jar->second.is_ready() && !server_gone_ && jar::has_packet(server_);
         jar = jars_.find(id)) {
        BJ_TRY_VOID(on_server_readable());
    }
    return {};
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
        return static_cast<int>(kRemovalRetry.count());
    }
    TimePoint next = give_up_;
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
    if (server_gone_ || !jar::has_packet(server_)) {
        return {};  // too late, or heard already, for a jar's sake
    }
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
    if (const auto* wanted = std::get_if<ZygoteMessage>(&message)) {
        start_zygote(*wanted, std::move(packet->fds));
        return {};
    }
    if (const auto* retired = std::get_if<RetireMessage>(&message)) {
        if (const auto found = zygotes_.find(retired->zygote); found != zygotes_.end()) {
            found->second.retire();
        }
        return {};
    }
    if (const auto* look = std::get_if<LookMessage>(&message)) {
        if (const auto found = jars_.find(look->jar); found != jars_.end()) {
            tell_server(SeenMessage{.cell = found->second.look()});
        }
        return {};
    }
    const auto* order = std::get_if<KillMessage>(&message);
    const auto* start = std::get_if<StartMessage>(&message);
    const bool ends = order != nullptr && order->reason <= KillReason::ServerGone;
    if (!ends && (start == nullptr || start->timeout_nanoseconds <= 0)) {
        return fail(ErrorCode::InvalidArgument, "a message that makes no sense now");
    }
    const auto found = jars_.find(ends ? order->jar : start->jar);
    if (found != jars_.end() && ends) {
        found->second.kill(order->reason);
    } else if (found != jars_.end()) {
        found->second.start(*start);
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
        const auto found = jars_.find(message.jar);
        if (step == Step::Clone && found != jars_.end()) {
            // It runs, but nobody would hear of its end.
            found->second.kill(KillReason::Cancelled);
            on_jar_exit(message.jar);
        } else if (step > Step::ReadMessage && host_.mode == jar::Mode::Nested) {
            std::size_t most = kRemovedAtOnce;
            [[maybe_unused]] const bool removed = are_files_gone(message.jar, most);
        }
    }
}

Result<void> Warden::try_launch(const LaunchMessage& message, std::vector<Fd> fds, Step& step) {
    BJ_TRY_VOID(jar::command_of(message.command));
    const bool known =
        jars_.contains(message.jar) || message.jar == 0 || (message.jar >> (64 - kSourceBits)) != 0;
    const std::size_t without_tools = fds.size() - std::min<std::size_t>(message.has_tools, 1);
    const bool has_courier = without_tools == kGuestFdCount + 1;
    if ((without_tools != kGuestFdCount && !has_courier) || known ||
        message.timeout_nanoseconds <= 0 || message.proc > jar::ProcView::Masked ||
        message.waits > 1 || message.has_tools > 1 || message.shows_logs > 1 ||
        message.in_memory > 1 || message.write_execute > jar::WriteExecute::Denied ||
        !is_guest_of(message)) {
        return fail(ErrorCode::InvalidArgument, "a malformed launch message");
    }
    if (host_.user_count > 0 && users_in_use_.size() >= host_.user_count) {
        return fail(system_error("no user id is free", EAGAIN));
    }
    if (message.zygote != 0 && !zygotes_.contains(message.zygote)) {
        return fail(system_error("there is no such zygote", ESRCH));
    }
    JarResources resources{.host_user = next_free_user(), .zygote = message.zygote};
    jar::Spec spec{.message = plan_for(message, resources.host_user)};
    Fd tools;
    if (message.has_tools == 1) {
        tools = std::move(fds.back());
        fds.pop_back();
    }
    if (has_courier) {
        spec.courier = std::move(fds.back());
        fds.pop_back();
    }
    std::ranges::move(fds, spec.descriptors.begin());
    step = Step::MakeCgroup;
    BJ_TRY(resources.cgroup, cgroups_.make(message.jar, limits_of(message)));
    spec.cgroup_files = resources.cgroup.take_tasks_files();
    Parents parents{.nursery = nursery_, .init = init_};
    if (host_.mode == jar::Mode::Nested) {
        BJ_TRY_VOID(resources.cgroup.add_members_file(spec.cgroup_files));
        step = Step::MakeWorkspace;
        spec.message.workspace = jar::WorkspaceKind::Directory;
        BJ_TRY(spec.workspace, scratch_.make(message.jar, resources.host_user));
    } else {
        step = Step::MakeStage;
        BJ_TRY(spec.stage, nursery_.stage_for(spec.message, tools));
        parents.equip = [this, owner = resources.host_user](jar::Spec& made) {
            return make_files(owner, made);
        };
    }
    step = Step::Clone;
    const Duration timeout =
        message.waits == 1 ? Duration::max() : Duration(message.timeout_nanoseconds);
    BJ_TRY(Jar jar,
           Jar::launch(message.jar, std::move(spec), timeout, std::move(resources), parents));
    users_in_use_.insert(jar.host_user());
    const auto [place, inserted] = jars_.emplace(message.jar, std::move(jar));
    BJ_TRY_VOID(watch(place->second.exit_fd(), tag_of(Source::Exit, message.jar)));
    if (place->second.oom_fd().valid()) {
        BJ_TRY_VOID(watch(place->second.oom_fd(), tag_of(Source::OutOfMemory, message.jar)));
    }
    if (const std::optional<jar::GuestOrder> order = place->second.take_order()) {
        order_guest(place->second, *order);
    }
    return watch(place->second.report_fd(), tag_of(Source::Report, message.jar));
}

jar::SpecMessage Warden::plan_for(const LaunchMessage& message, uid_t user) {
    jar::SpecMessage plan{};
    plan.mode = host_.mode;
    plan.guest = message.guest;
    plan.proc = message.proc;
    plan.write_execute =
        host_.can_deny_execution == 1 ? message.write_execute : jar::WriteExecute::Allowed;
    plan.landlock_abi = host_.landlock_abi;
    plan.own_user = host_.user_count > 0 ? 1 : 0;
    plan.memory_by_process = (cgroups_.layers() & bit(Layer::MemoryLimit)) == 0 ? 1 : 0;
    plan.processes_by_user = (cgroups_.layers() & bit(Layer::ProcessLimit)) == 0 ? 1 : 0;
    plan.processor_by_nice = (cgroups_.layers() & bit(Layer::CpuShare)) == 0 ? 1 : 0;
    // The nursery's numbers begin at its own root.
    plan.outer_user = host_.mode == jar::Mode::Root ? user - (host_.first_user - 1) : user;
    plan.processes = message.processes;
    plan.memory_bytes = message.memory_bytes;
    plan.tmp_bytes = message.tmp_bytes;
    plan.workspace_bytes = message.workspace_bytes;
    plan.workspace = template_ && message.in_memory == 0 ? jar::WorkspaceKind::Mount
                                                         : jar::WorkspaceKind::Memory;
    plan.root = host_.root;
    plan.logs = message.shows_logs == 1 ? host_.logs : jar::HostPath{};
    plan.command = message.command;
    return plan;
}

// What only we can make, and init puts in its place.
Result<void> Warden::make_files(uid_t owner, jar::Spec& spec) const {
    if (host_.mode == jar::Mode::Root) {
        BJ_TRY(spec.devices, jar::make_device_tree());
    }
    if (spec.message.workspace == jar::WorkspaceKind::Mount) {
        BJ_TRY(const jar::WorkspaceImage image,
               jar::make_workspace_image(*template_, host_.scratch.data()));
        BJ_TRY(spec.workspace, jar::mount_workspace_image(image, owner));
    }
    return {};
}

void Warden::start_zygote(const ZygoteMessage& message, std::vector<Fd> fds) {
    if (const Result<void> started = try_start_zygote(message, std::move(fds)); !started) {
        log_.error("a zygote could not be started", {{"reason", started.error().describe()}});
        tell_server(ZygoteStateMessage{.zygote = message.zygote, .ready = 0});
    }
}

Result<void> Warden::try_start_zygote(const ZygoteMessage& message, std::vector<Fd> fds) {
    if (host_.mode == jar::Mode::Nested || fds.size() != 1 || message.zygote == 0 ||
        zygotes_.size() >= kMostZygotes || zygotes_.contains(message.zygote) ||
        message.proc > jar::ProcView::Masked) {
        return fail(ErrorCode::InvalidArgument, "a zygote that cannot be");
    }
    BJ_TRY(Zygote started, Zygote::start(message, std::move(fds.front()), host_, nursery_));
    const auto [place, inserted] = zygotes_.emplace(message.zygote, std::move(started));
    BJ_TRY_VOID(watch(place->second.control(), tag_of(Source::ZygoteAnswer, message.zygote)));
    return watch(place->second.exit_fd(), tag_of(Source::ZygoteExit, message.zygote));
}

void Warden::on_zygote_answer(std::uint32_t id) {
    const auto zygote = zygotes_.find(id);
    if (zygote == zygotes_.end()) {
        return;
    }
    const Result<jar::OrderAnswer> answer = zygote->second.receive_answer();
    if (!answer) {
        zygote->second.let_go();  // it has ended, or has to
        return;
    }
    if (answer->jar == 0) {
        tell_server(ZygoteStateMessage{.zygote = id, .ready = 1});
        return;
    }
    const auto found = jars_.find(answer->jar);
    if (found == jars_.end() || found->second.zygote() != id || !found->second.expects_guest()) {
        return;
    }
    Result<void> born = answer->child > 0 ? found->second.on_guest_born(answer->child)
                                          : fail(system_error("clone3", answer->sys_errno));
    if (born) {
        born = watch(found->second.guest_fd(), tag_of(Source::Guest, answer->jar));
    }
    if (!born) {
        found->second.on_no_guest(born.error().sys_errno);
    }
}

void Warden::on_zygote_exit(std::uint32_t id) {
    const auto found = zygotes_.find(id);
    if (found != zygotes_.end()) {
        if (const Result<void> reaped = found->second.reap(); !reaped) {
            log_.error("a zygote had to stop", {{"reason", reaped.error().describe()}});
        }
        const bool answered_all = found->second.retired();
        zygotes_.erase(found);
        if (!answered_all) {
            end_unknown_guests();
        }
        for (auto& [number, jar] : jars_) {
            if (jar.zygote() == id && jar.expects_guest()) {
                jar.on_no_guest(ESRCH);
            }
        }
        tell_server(ZygoteStateMessage{.zygote = id, .ready = 0});
    }
}

// A guest whose birth was told to nobody could not be reaped, and its jar never end.
void Warden::let_retired_go() {
    for (auto& [id, zygote] : zygotes_) {
        const auto waits = [id](const auto& jar) {
            return jar.second.zygote() == id && jar.second.expects_guest();
        };
        if (zygote.retired() && zygote.control().valid() && std::ranges::none_of(jars_, waits)) {
            zygote.let_go();
        }
    }
}

std::vector<pid_t> Warden::known_children() {
    std::vector<pid_t> known{nursery_.pid()};
    for (const auto& [id, zygote] : zygotes_) {
        known.push_back(zygote.pid());
        while (zygote.control().valid() && jar::has_packet(zygote.control())) {
            on_zygote_answer(id);  // whom another has just borne is known as well
        }
    }
    for (const auto& [id, jar] : jars_) {
        known.push_back(jar.pid());
        known.push_back(jar.guest().pid());
    }
    return known;
}

// The same if a zygote died before it could tell.
void Warden::end_unknown_guests() {
    if (const Result<void> ended = jar::end_descendants(known_children()); !ended) {
        log_.error("guests of a zygote are left", {{"reason", ended.error().describe()}});
    }
}

void Warden::order_guest(Jar& jar, const jar::GuestOrder& order) {
    const auto zygote = zygotes_.find(jar.zygote());
    if (zygote == zygotes_.end() || !zygote->second.order(order)) {
        jar.on_no_guest(ESRCH);
    }
}

void Warden::on_guest_exit(JarId id) {
    const auto found = jars_.find(id);
    if (found == jars_.end() || !found->second.guest_fd().valid()) {
        return;
    }
    // What init has told of refused calls belongs before the end.
    while (found->second.report_fd().valid() && jar::has_packet(found->second.report_fd()) &&
           pass_on_report(found->second)) {
    }
    const Result<bool> settled = found->second.on_guest_exit();
    if (!settled) {
        log_.error("a guest could not be reaped", {{"reason", settled.error().describe()}});
    } else if (*settled && !found->second.failure()) {
        tell_server(found->second.outcome());
    }
}

void Warden::on_jar_report(JarId id) {
    const auto found = jars_.find(id);
    if (found != jars_.end() && !pass_on_report(found->second)) {
        found->second.kill(KillReason::None);
    }
}

bool Warden::pass_on_report(Jar& jar) {
    if (!jar.report_fd().valid()) {
        return true;
    }
    const Result<std::optional<WardenMessage>> news = jar.on_report();
    if (!news) {
        log_.error("a jar's report could not be read", {{"reason", news.error().describe()}});
        return false;
    }
    if (*news) {
        const std::vector<Fd> files = jar.take_network_files();
        std::visit([&](auto& message) { tell_server(message, jar::numbers_of(files)); }, **news);
    }
    return true;
}

void Warden::on_out_of_memory(JarId id) {
    const auto found = jars_.find(id);
    if (found != jars_.end() && found->second.out_of_memory() && !found->second.in_session()) {
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
    jar.hear_the_rest();
    while (jar.report_fd().valid() && pass_on_report(jar)) {
    }
    if (const Result<void> reaped = jar.on_exit(); !reaped) {
        log_.error("a jar could not be reaped", {{"reason", reaped.error().describe()}});
    }
    if (jar.failure()) {
        tell_server(*jar.failure());
    } else if (!jar.settled_early()) {
        tell_server(jar.outcome());
    }
    ended_.push_back(std::move(jar));
    if (host_.mode == jar::Mode::Nested) {
        clean_up_after(ended_.back());
    }
}

// Where no namespace does it: processes that outlived their init.
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
}

bool Warden::are_files_gone(JarId id, std::size_t& most) {
    const Result<bool> gone = scratch_.remove(id, most);
    if (!gone) {
        log_.error("files of a jar are left", {{"reason", gone.error().describe()}});
    }
    return gone.value_or(true);
}

void Warden::enforce_deadlines() {
    const TimePoint now = Clock::now();
    bool held = false;
    for (auto& [id, jar] : jars_) {
        if (jar.deadline() <= now) {
            held = held || jar.is_dying();
            jar.on_deadline();
        }
    }
    // No init can end while somebody of its namespace waits for us, whoever bore them.
    if (held && !jar::reap_unknown(known_children())) {
        log_.error("a jar does not end");
    }
}

// An init that had time for it has left no files. Of what one has left, some is removed each time,
// as other jars wait meanwhile.
void Warden::remove_ended() {
    std::size_t most = server_gone_ ? std::numeric_limits<std::size_t>::max() : kRemovedAtOnce;
    std::erase_if(ended_, [&](Jar& jar) {
        const bool files = host_.mode == jar::Mode::Nested;
        if (!jar.remove_cgroup() || (files && !are_files_gone(jar.id(), most))) {
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
void Warden::tell_server(const Message& message, std::span<const int> fds) {
    if (server_gone_) {
        return;
    }
    if (!send_message(server_, message, fds)) {
        kill_everything();
    }
}

}  // namespace belljar::isolation
