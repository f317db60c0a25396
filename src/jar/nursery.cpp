#include "jar/nursery.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "jar/contain.h"
#include "jar/seqpacket.h"

namespace belljar::jar {
namespace {

// Its only descriptor, and later that of the jar's init.
constexpr int kSocket = 3;
constexpr int kFailed = 125;

// The user namespace is not among these: it is entered last, from inside.
constexpr std::uint64_t kNamespaces =
    CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;

constexpr char kJarOrder = 0;  // any other is for a zygote

// What the nursery answers.
struct Birth {
    pid_t child;
    int sys_errno;
};

long clone_process(std::uint64_t flags, int cgroup, int exit_signal) {
    clone_args arguments{};
    arguments.flags = flags | CLONE_CLEAR_SIGHAND;
    arguments.exit_signal = static_cast<std::uint64_t>(exit_signal);
    if (cgroup >= 0) {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = static_cast<std::uint64_t>(cgroup);
    }
    return ::syscall(SYS_clone3, &arguments, sizeof(arguments));
}

// Until the warden has written the maps; a nursery in the caller's user namespace has nothing to
// wait for, and is told all the same.
bool become_root(const Fd& socket, NurseryIds ids) {
    const Result<Packet> told = receive_packet(socket);
    // An ordinary user may not change its groups.
    const bool without_groups = ::setgroups(0, nullptr) == 0 || (ids.count == 0 && errno == EPERM);
    return told && !told->data.empty() && without_groups && ::setresgid(0, 0, 0) == 0 &&
           ::setresuid(0, 0, 0) == 0;
}

[[noreturn]] void execute_nursery(const Fd& init, const Fd& socket) {
    char name[] = "belljar-nursery";
    char order[] = "nursery";
    char* const arguments[] = {name, order, nullptr};
    char* const environment[] = {nullptr};
    // The program first: its number may be the one where the socket belongs.
    const Fd program(::fcntl(init.get(), F_DUPFD_CLOEXEC, kSocket + 1));
    const int placed =
        socket.get() == kSocket ? ::fcntl(kSocket, F_SETFD, 0) : ::dup2(socket.get(), kSocket);
    if (placed >= 0) {
        ::syscall(SYS_execveat, program.get(), "", arguments, environment, AT_EMPTY_PATH);
    }
    ::_exit(kFailed);
}

Result<void> write_maps(pid_t process, NurseryIds ids) {
    const std::string map =
        "0 " + std::to_string(ids.first) + " " + std::to_string(ids.count) + "\n";
    for (const char* name : {"gid_map", "uid_map"}) {
        const std::string path = "/proc/" + std::to_string(process) + "/" + name;
        const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        if (::write(file.get(), map.data(), map.size()) != static_cast<ssize_t>(map.size())) {
            return fail(system_error(name));
        }
    }
    return {};
}

// CLONE_PARENT: a sibling of the nursery, so that the warden itself hears of its end.
Birth bear_child(const Packet& order) {
    const int cgroup = order.fds.size() > 1 ? order.fds[1].get() : -1;
    // A zygote has no pid namespace of its own: it could not give others to its children.
    const bool is_jar = order.data.front() == kJarOrder;
    const std::uint64_t namespaces =
        is_jar ? kNamespaces : kNamespaces & ~std::uint64_t{CLONE_NEWPID};
    const long child = clone_process(CLONE_PARENT | namespaces, cgroup, 0);
    if (child == 0) {
        if (::dup2(order.fds[0].get(), kSocket) != kSocket ||
            ::fcntl(kSocket, F_SETFD, FD_CLOEXEC) != 0 ||
            ::syscall(SYS_close_range, kSocket + 1, ~0U, 0) != 0) {
            ::_exit(kFailed);
        }
        contain(Fd(kSocket));
    }
    return {.child = static_cast<pid_t>(child), .sys_errno = child < 0 ? errno : 0};
}

}  // namespace

Nursery& Nursery::operator=(Nursery&& other) noexcept {
    end();
    process_ = std::move(other.process_);
    socket_ = std::move(other.socket_);
    return *this;
}

void Nursery::end() {
    socket_.reset();  // upon which it ends
    if (process_.valid()) {
        [[maybe_unused]] const Result<int> ended = process_.wait();
    }
}

Result<Nursery> Nursery::start(const Fd& init, NurseryIds ids, int cgroup) {
    BJ_TRY(SocketPair sockets, make_seqpacket_pair());
    const std::uint64_t own = ids.count > 0 ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS;
    const long child = clone_process(own, cgroup, SIGCHLD);
    if (child < 0) {
        return fail(system_error("clone the nursery"));
    }
    if (child == 0) {
        sockets.first.reset();
        if (!become_root(sockets.second, ids)) {
            ::_exit(kFailed);
        }
        execute_nursery(init, sockets.second);
    }
    Nursery made;
    BJ_TRY(made.process_, PidFd::open(static_cast<pid_t>(child)));
    made.socket_ = std::move(sockets.first);
    if (ids.count > 0) {
        BJ_TRY_VOID(write_maps(static_cast<pid_t>(child), ids));
    }
    const std::byte proceed{1};
    BJ_TRY_VOID(send_packet(made.socket_, std::span(&proceed, 1), {}));
    return made;
}

Result<void> Nursery::order(const Fd& socket, int cgroup) const {
    return send_order(Kind::Jar, socket, cgroup);
}

Result<PidFd> Nursery::bear_zygote(const Fd& socket) const {
    BJ_TRY_VOID(send_order(Kind::Zygote, socket, -1));
    return take_born();
}

Result<void> Nursery::send_order(Kind kind, const Fd& socket, int cgroup) const {
    const auto text = static_cast<std::byte>(kind);
    const std::array<int, 2> fds{socket.get(), cgroup};
    return send_packet(socket_, std::span(&text, 1), std::span(fds).first(cgroup >= 0 ? 2 : 1));
}

Result<PidFd> Nursery::take_born() const {
    BJ_TRY(const Packet answer, receive_packet(socket_));
    Birth birth{};
    if (answer.data.size() != sizeof(birth)) {
        return fail(system_error("the nursery is gone", EPIPE));
    }
    std::memcpy(&birth, answer.data.data(), sizeof(birth));
    if (birth.child <= 0) {
        return fail(system_error("clone3", birth.sys_errno));
    }
    return PidFd::open(birth.child);
}

void become_nursery(const Fd& warden) {
    ::prctl(PR_SET_NAME, "belljar-nursery", 0UL, 0UL, 0UL);
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL) != 0) {
        ::_exit(kFailed);
    }
    while (true) {
        const Result<Packet> order = receive_packet(warden);
        if (!order || order->data.empty() || order->fds.empty()) {
            ::_exit(0);  // the warden is gone
        }
        const Birth birth = bear_child(*order);
        if (!send_packet(warden, std::as_bytes(std::span(&birth, 1)), {})) {
            ::_exit(0);
        }
    }
}

}  // namespace belljar::jar
