#include "isolation/jar.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/turns.h"
#include "jar/fill.h"
#include "jar/process_state.h"

namespace belljar::isolation {
namespace {

constexpr auto kSetUpTime = std::chrono::seconds(10);
constexpr auto kLongestTime = std::chrono::hours(24 * 365);

constexpr auto kTimeToEnd = std::chrono::seconds(6);
constexpr auto kTimeToDie = std::chrono::seconds(1);
constexpr auto kTimeToSendFiles = std::chrono::seconds(30);

}  // namespace

Result<Jar> Jar::launch(JarId id, jar::Spec spec, Duration timeout, JarResources resources,
                        const Parents& parents) {
    Jar made;
    made.id_ = id;
    made.mode_ = spec.message.mode;
    made.timeout_ = std::min<Duration>(timeout, kLongestTime);
    made.waits_ = timeout == Duration::max();
    made.resources_ = std::move(resources);
    BJ_TRY(jar::SocketPair sockets, jar::make_seqpacket_pair());
    const bool forked = spec.message.guest == jar::GuestKind::Fork;
    jar::SocketPair guest_sockets;
    if (forked) {
        BJ_TRY(guest_sockets, jar::make_seqpacket_pair());
        spec.guest_socket = std::move(guest_sockets.first);
    }
    // Init finds it when it is born.
    BJ_TRY_VOID(jar::send_spec(sockets.first, spec));
    Result<void> equipped;
    if (made.mode_ == jar::Mode::Nested) {
        BJ_TRY(made.process_, jar::fork_init(parents.init, sockets.second));
    } else {
        BJ_TRY_VOID(parents.nursery.order(sockets.second, spec.stage,
                                          made.resources_.cgroup.clone_target()));
        equipped = parents.equip ? parents.equip(spec) : Result<void>{};
        if (equipped) {
            equipped = jar::send_mounts(sockets.first, spec);
        }
        BJ_TRY(made.process_, parents.nursery.take_born());
    }
    made.reports_ = std::move(sockets.first);
    made.started_ = Clock::now();
    made.deadline_ = made.started_ + kSetUpTime;
    made.outcome_.jar = id;
    if (!equipped) {
        made.fail_with(Step::MakeWorkspace, equipped.error().sys_errno);
        made.kill(KillReason::None);  // its end tells the rest
    } else if (forked) {
        spec.courier.reset();
        spec.guest_socket.reset();
        BJ_TRY(Fd init, duplicate(made.process_.fd().get()));
        Fd cgroup;
        if (const int target = made.resources_.cgroup.clone_target(); target >= 0) {
            BJ_TRY(cgroup, duplicate(target));
        }
        made.order_ = jar::GuestOrder{.jar = id,
                                      .spec = std::move(spec),
                                      .init = std::move(init),
                                      .reports = std::move(sockets.second),
                                      .listener = std::move(guest_sockets.second),
                                      .cgroup = std::move(cgroup)};
    }
    return made;
}

std::optional<jar::GuestOrder> Jar::take_order() { return std::exchange(order_, std::nullopt); }

Result<void> Jar::on_guest_born(pid_t guest) {
    answered_ = true;
    BJ_TRY(guest_, PidFd::open_child(guest));
    look_at_guest();
    return {};
}

// Once it is confined, so that nothing about it changes any more.
void Jar::look_at_guest() {
    if (guest_.valid() && guest_started_) {
        const Result<jar::ProcessState> state = jar::read_process_state(guest_.pid());
        end_is_shown_ = state && state->sight == jar::ProcessState::Sight::Clear;
    }
}

// To take its memory apart costs the kernel as much as most programs take. Nobody needs to wait for
// that if the guest is the only one in its jar, runs no more, and its status is there.
bool Jar::settle_before_exit() {
    constexpr std::uint64_t kInitAndGuest = 2;
    if (!guest_.valid() || !end_is_shown_ || told_to_end_ ||
        resources_.cgroup.processes() != kInitAndGuest || !resources_.cgroup.counts_cpu_time()) {
        return false;
    }
    const Result<jar::ProcessState> state = jar::read_process_state(guest_.pid());
    if (!state || !state->ending || state->threads != 1 ||
        state->sight == jar::ProcessState::Sight::Denied) {
        return false;
    }
    outcome_.exited = 1;
    outcome_.wait_status = state->wait_status;
    finish();
    settle({});
    settled_early_ = true;
    let_others_go_first(guest_.pid());
    return true;
}

void Jar::on_no_guest(int sys_errno) {
    answered_ = true;
    if (!told_to_end_) {
        fail_with(Step::ForkGuest, sys_errno);
        kill(KillReason::None);
    }
}

// Init waits for nothing any more, and what the guest started ends with it. Who started nothing
// need not wait for that.
Result<bool> Jar::on_guest_exit() {
    const Result<int> waited = std::exchange(guest_, {}).wait(&guest_usage_);
    BJ_TRY(const int status, waited);
    if (told_to_end_ || !guest_started_) {  // no end of a program
        on_no_guest(ECHILD);
        return false;
    }
    const bool known = settled_early_;
    constexpr std::uint64_t kOnlyInit = 1;
    if (!known) {
        outcome_.exited = 1;
        outcome_.wait_status = status;
        finish();
        settled_early_ = resources_.cgroup.processes() == kOnlyInit;
    }
    if (settled_early_ && !known) {
        settle({});
    }
    kill(KillReason::None);
    return settled_early_ && !known;
}

void Jar::hear_the_rest() {
    if (reports_.valid()) {
        ::fcntl(reports_.get(), F_SETFL, O_NONBLOCK);
    }
}

Result<std::optional<WardenMessage>> Jar::on_report() {
    std::optional<WardenMessage> news;
    Result<Packet> packet = jar::receive_packet(reports_);
    const bool nothing_left = !packet && packet.error().sys_errno == EAGAIN;
    if (nothing_left || (packet && packet->data.empty())) {
        reports_.reset();  // on_exit() follows
        return news;
    }
    if (!packet) {
        return fail(packet.error());
    }
    BJ_TRY(const jar::JarReport report, jar::decode_report(packet->data));
    switch (report.event) {
        case jar::JarEvent::TreeStands:
            take_places(std::move(*packet));
            break;
        case jar::JarEvent::GuestStarts:
            guest_started_ = true;
            started_ = Clock::now();
            deadline_ = started_ + timeout_;
            look_at_guest();
            news = StartedMessage{.jar = id_};
            break;
        case jar::JarEvent::StepFailed:
            if (!told_to_end_) {  // what fails because init is gone is no failure
                fail_with(report.step, report.value);
            }
            break;
        case jar::JarEvent::GuestExited:
            outcome_.exited = 1;
            outcome_.wait_status = report.value;
            finish();
            if (keeps_files_ && !told_to_end_) {
                deadline_ = Clock::now() + kTimeToSendFiles;
            }
            BJ_TRY_VOID(jar::send_order(reports_, jar::InitOrder::GoOn));
            break;
        case jar::JarEvent::Denied:
            news = DeniedMessage{.jar = id_, .record = report.denial};
            break;
        case jar::JarEvent::UsesNetwork:
            network_files_ = std::move(packet->fds);
            news = NetworkMessage{.jar = id_};
            break;
        case jar::JarEvent::NobodyLeft:
            if (settle_before_exit()) {
                news = outcome_;
            }
            break;
    }
    return news;
}

void Jar::start(const StartMessage& order) {
    const bool begins = std::exchange(waits_, false) || order.cell == 1;
    if (!begins || told_to_end_) {
        return;
    }
    const double cpu = static_cast<double>(order.cpu_thousandths) / 1000.0;
    if (const auto changed = resources_.cgroup.change(Bytes{order.memory_bytes}, cpu); !changed) {
        fail_with(Step::MakeCgroup, changed.error().sys_errno);
        kill(KillReason::None);
        return;
    }
    timeout_ = std::min<Duration>(Duration(order.timeout_nanoseconds), kLongestTime);
    keeps_files_ = order.keeps_files == 1;
    in_session_ = in_session_ || order.cell == 1;
    if (in_session_ || keeps_files_) {
        resources_.cgroup.begin_cell();  // init outlives a lack of memory
    }
    if (guest_started_) {
        before_ = in_session_ ? resources_.cgroup.usage()
                              : cgroup::CgroupUsage{.cpu = resources_.cgroup.cpu_time()};
        started_ = Clock::now();
        deadline_ = started_ + timeout_;
    }
}

EndedMessage Jar::look() {
    EndedMessage cell{};
    cell.jar = id_;
    if (!told_to_end_) {
        deadline_ = TimePoint::max();
        const jar::Fill workspace = jar::fill_of(workspace_);
        cell.disk_used_bytes = workspace.used - std::min(workspace.used, used_when_empty_);
        cell.disk_full = workspace.full || jar::fill_of(tmp_).full ? 1 : 0;
        cell.wall_nanoseconds = static_cast<std::uint64_t>((Clock::now() - started_).count());
        measure(cell);
    }
    return cell;
}

void Jar::take_places(Packet packet) {
    if (packet.fds.size() == 2) {
        workspace_ = std::move(packet.fds[0]);
        tmp_ = std::move(packet.fds[1]);
        used_when_empty_ = jar::fill_of(workspace_).used;
    }
}

// The run is over. Nothing of the jar's files is held any longer: who holds a file system last has
// to remove it, with all that is still to be written, and that is init's to do. Other jars wait for
// this process.
void Jar::finish() {
    if (finished_ != TimePoint{}) {
        return;
    }
    finished_ = Clock::now();
    const jar::Fill workspace = jar::fill_of(workspace_);
    outcome_.disk_used_bytes = workspace.used - std::min(workspace.used, used_when_empty_);
    outcome_.disk_full = workspace.full || jar::fill_of(tmp_).full ? 1 : 0;
    workspace_.reset();
    tmp_.reset();
}

void Jar::kill(KillReason reason) {
    const bool sends = told_to_end_ && !dying_ && keeps_files_ && Clock::now() < deadline_;
    if (sends && reason != KillReason::ServerGone) {
        return;  // nothing of the guest runs any more
    }
    if (outcome_.kill_reason == KillReason::None && outcome_.exited == 0) {
        outcome_.kill_reason = reason;
    }
    // Without a pid namespace only init can end everything that the guest started; and only init
    // can send its files.
    const bool sends_files = keeps_files_ && reason != KillReason::ServerGone;
    const bool ask = (mode_ == jar::Mode::Nested || sends_files) && guest_started_ && !told_to_end_;
    const Duration time = sends_files ? Duration(kTimeToSendFiles) : Duration(kTimeToEnd);
    deadline_ = Clock::now() + (ask ? time : Duration(kTimeToDie));
    dying_ = !ask;
    told_to_end_ = true;
    finish();
    if (settled_early_ && !ask) {  // else a busy guest would be ahead of what ends it
        let_others_go_first(process_.pid());
    }
    // Else it has ended by itself in the meantime, or does not hear: the deadline ends it.
    [[maybe_unused]] const Result<void> told = ask && mode_ != jar::Mode::Nested
                                                   ? jar::send_order(reports_, jar::InitOrder::End)
                                                   : process_.signal(ask ? SIGTERM : SIGKILL);
}

void Jar::on_deadline() {
    if (dying_) {
        deadline_ = Clock::now() + kTimeToDie;
        return;
    }
    if (!guest_started_) {
        fail_with(Step::SetUpDeadline, ETIMEDOUT);
    }
    kill(KillReason::Deadline);
}

Result<void> Jar::on_exit() {
    hear_the_rest();
    // A report that was sent just before the end is still in the socket.
    while (reports_.valid()) {
        if (!on_report()) {
            break;
        }
    }
    rusage waited{};
    BJ_TRY([[maybe_unused]] const int status, process_.wait(&waited));
    finish();  // if init ended without a word
    if (!guest_started_ && outcome_.kill_reason == KillReason::None) {
        fail_with(Step::ReceiveSpec, ECHILD);
    }
    if (!settled_early_) {
        settle(waited);
    }
    return {};
}

void Jar::settle(const rusage& waited) {
    // Killed just before its guest started, a run has taken no time.
    outcome_.wall_nanoseconds =
        static_cast<std::uint64_t>(std::max(finished_ - started_, Duration{}).count());
    measure(outcome_);
    // Without a cgroup: what init and those it reaped have used, and the largest of them.
    if (outcome_.cpu_nanoseconds == 0) {
        outcome_.cpu_nanoseconds =
            jar::cpu_nanoseconds(waited) + jar::cpu_nanoseconds(guest_usage_);
    }
    if (outcome_.memory_peak_bytes == 0) {
        outcome_.memory_peak_bytes = jar::largest_bytes(waited, guest_usage_);
    }
}

void Jar::measure(EndedMessage& outcome) const {
    const cgroup::CgroupUsage usage = resources_.cgroup.usage();
    outcome.cpu_nanoseconds =
        static_cast<std::uint64_t>(std::max(usage.cpu - before_.cpu, Duration{}).count());
    outcome.memory_peak_bytes = usage.memory_peak_bytes;
    outcome.out_of_memory_kills = usage.out_of_memory_kills - before_.out_of_memory_kills;
    outcome.processes_peak = usage.processes_peak;
    outcome.process_limit_hits = usage.process_limit_hits - before_.process_limit_hits;
}

void Jar::fail_with(Step step, int sys_errno) {
    if (!failure_) {
        failure_ = FailedMessage{.jar = id_, .step = step, .sys_errno = sys_errno};
    }
}

}  // namespace belljar::isolation
