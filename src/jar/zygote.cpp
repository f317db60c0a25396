#include "jar/zygote.h"

#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "jar/guest.h"
#include "jar/identity.h"
#include "jar/reports.h"
#include "jar/seqpacket.h"
#include "jar/step_runner.h"
#include "jar/surroundings.h"

namespace belljar::jar {
namespace {

constexpr int kNamespacesOfJar =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | CLONE_NEWCGROUP;

// Where libc keeps the thread's number. Its fork() writes the child's there; ours has to as well,
// or raise() and abort() would signal somebody else.
Result<std::uint64_t> find_thread_number() {
    int* place = nullptr;
    if (::prctl(PR_GET_TID_ADDRESS, &place, 0UL, 0UL, 0UL) != 0 || place == nullptr ||
        *place != static_cast<int>(::syscall(SYS_gettid))) {
        return fail(system_error("PR_GET_TID_ADDRESS", ENOTSUP));
    }
    return reinterpret_cast<std::uint64_t>(place);
}

struct RobustList {
    robust_list_head* head = nullptr;
    std::size_t length = 0;
};

Result<void> join_jar_cgroup(const Spec& spec) {
    for (const Fd& tasks : spec.cgroup_files) {
        if (::write(tasks.get(), "0", 1) != 1) {
            return fail(system_error("write tasks"));
        }
    }
    return {};
}

// Who is not let in is in a jar that has failed, and that init has told of.
void await_init(const Fd& init) {
    const Result<Packet> word = receive_packet(init);
    if (!word || word->data.empty()) {
        ::_exit(1);
    }
}

Result<void> enter_namespaces(const Fd& init) {
    if (::setns(init.get(), kNamespacesOfJar) != 0) {
        return fail(system_error("setns"));
    }
    return {};
}

// After a change of user id the process would be nobody's: it could not even look at itself.
Result<void> belong_to_guest() {
    if (::prctl(PR_SET_DUMPABLE, 1UL, 0UL, 0UL, 0UL) != 0) {
        return fail(system_error("PR_SET_DUMPABLE"));
    }
    return {};
}

Result<void> tell_start(const Fd& warden) {
    JarReport report{};
    report.event = JarEvent::GuestStarts;
    return send_report(warden, report);
}

}  // namespace

Result<void> send_order(const Fd& zygote, const GuestOrder& order) {
    OrderMessage message{.jar = order.jar,
                         .born_in_cgroup = order.cgroup.valid() ? 1U : 0U,
                         .spec = order.spec.message};
    message.spec.cgroup_files = static_cast<std::uint32_t>(order.spec.cgroup_files.size());
    std::vector<int> numbers;
    for (const Fd& fd : order.spec.descriptors) {
        numbers.push_back(fd.get());
    }
    for (const Fd* fd : {&order.init, &order.reports, &order.listener}) {
        numbers.push_back(fd->get());
    }
    if (order.cgroup.valid()) {
        numbers.push_back(order.cgroup.get());
    }
    for (const Fd& fd : order.spec.cgroup_files) {
        numbers.push_back(fd.get());
    }
    return send_packet(zygote, std::as_bytes(std::span(&message, 1)), numbers);
}

Result<GuestOrder> receive_order(const Fd& warden) {
    BJ_TRY(Packet packet, receive_packet(warden));
    OrderMessage message{};
    if (packet.data.size() != sizeof(message)) {
        return fail(system_error("an order of the wrong size", EPROTO));
    }
    std::memcpy(&message, packet.data.data(), sizeof(message));
    const std::size_t fixed = kGuestFdCount + 3 + message.born_in_cgroup;
    if (message.born_in_cgroup > 1 || packet.fds.size() != fixed + message.spec.cgroup_files) {
        return fail(system_error("an order without its descriptors", EPROTO));
    }
    GuestOrder order{.jar = message.jar, .spec = {.message = message.spec}};
    std::size_t next = 0;
    const auto take = [&packet, &next] { return std::move(packet.fds[next++]); };
    for (Fd& fd : order.spec.descriptors) {
        fd = take();
    }
    for (Fd* fd : {&order.init, &order.reports, &order.listener}) {
        *fd = take();
    }
    if (message.born_in_cgroup == 1) {
        order.cgroup = take();
    }
    while (next < packet.fds.size()) {
        order.spec.cgroup_files.push_back(take());
    }
    return order;
}

Result<void> send_answer(const Fd& warden, const OrderAnswer& answer) {
    return send_packet(warden, std::as_bytes(std::span(&answer, 1)), {});
}

Result<pid_t> fork_guest(const GuestOrder& order) {
    BJ_TRY(const std::uint64_t thread_number, find_thread_number());
    RobustList robust;
    ::syscall(SYS_get_robust_list, 0, &robust.head, &robust.length);
    if (::setns(order.init.get(), CLONE_NEWPID) != 0) {
        return fail(system_error("setns CLONE_NEWPID"));
    }
    clone_args arguments{};
    arguments.flags = CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
    arguments.child_tid = thread_number;
    if (order.cgroup.valid()) {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = static_cast<std::uint64_t>(order.cgroup.get());
    }
    const long child = ::syscall(SYS_clone3, &arguments, sizeof(arguments));
    if (child < 0) {
        return fail(system_error("clone3"));
    }
    if (child == 0) {
        ::syscall(SYS_set_robust_list, robust.head, robust.length);
    }
    return static_cast<pid_t>(child);
}

void enter_jar(const GuestOrder& order, std::span<const sock_filter> filter) {
    const StepRunner steps(order.reports);
    steps.run(Step::JoinCgroup, join_jar_cgroup, order.spec);
    steps.run(Step::SetRlimits, set_rlimits, order.spec);
    steps.run(Step::SetRlimits, yield_processor, order.spec);
    await_init(order.listener);
    steps.run(Step::EnterNamespaces, enter_namespaces, order.init);
    steps.run(Step::TakeIdentity, take_identity);
    steps.run(Step::NewKeyring, make_session_keyring, order.spec.message.mode);
    steps.run(Step::DropCapabilities, drop_capabilities);
    steps.run(Step::NoNewPrivileges, forbid_new_privileges);
    steps.run(Step::TakeIdentity, belong_to_guest);
    confine_guest(order.spec, order.reports, order.listener, filter);
    steps.run(Step::Execute, tell_start, order.reports);
}

Result<void> let_in(const Fd& guest) {
    constexpr std::byte kWord{1};
    return send_packet(guest, std::span(&kWord, 1), {});
}

}  // namespace belljar::jar
