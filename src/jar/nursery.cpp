#include "jar/nursery.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cerrno>
#include <cstring>
#include <string>

#include "jar/contain.h"
#include "jar/mounts.h"
#include "jar/root_tree.h"
#include "jar/seqpacket.h"

namespace belljar::jar {
namespace {

// Its only descriptor, and later that of the jar's init.
constexpr int kSocket = 3;
constexpr int kFailed = 125;
constexpr unsigned kSecondsForStage = 10;

// The user namespace is not among these: it is entered last, from inside.
constexpr std::uint64_t kNamespaces =
    CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;

enum class Kind : std::uint32_t { Jar, Zygote, Stage };

// As it travels. With the socket of who is to be born, and the cgroup if there is one; for a stage
// with the pack of tools, if there is one.
struct Order {
    Kind kind;
    std::uint32_t stage;
    StagePlan plan;  // of a stage
};

// What the nursery answers. A stage has no child.
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

// The program `init` with its socket, and with what it is to be if it is no jar's.
[[noreturn]] void execute(const Fd& init, const Fd& socket, char* const* arguments) {
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

[[noreturn]] void execute_nursery(const Fd& init, const Fd& socket) {
    char name[] = "belljar-nursery";
    char order[] = "nursery";
    char* const arguments[] = {name, order, nullptr};
    execute(init, socket, arguments);
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

// The stages, in the nursery itself. Its children see them in copies of its mount namespace.
class Stages {
   public:
    // Takes the place of the one with this number; jars that were born on that keep it.
    Result<void> make(const Order& order, const Fd& pack) {
        if (!has_holder_) {
            BJ_TRY_VOID(make_holder());
            has_holder_ = true;
        }
        if (enter(order.stage)) {
            made_.reset(order.stage);
            if (::umount2(".", MNT_DETACH) != 0) {
                return fail(system_error("unmount a stage"));
            }
        }
        // In a process of its own: whatever a pack does to who reads it, it does not stay here.
        const pid_t worker = ::fork();
        if (worker == 0) {
            ::_exit(errno_of(attach(order, pack)));
        }
        int status = 0;
        if (worker < 0 || ::waitpid(worker, &status, 0) != worker) {
            return fail(system_error("fork"));
        }
        if (status != 0) {
            const int reason = WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
            return fail(system_error("make a stage", reason));
        }
        made_.set(order.stage);
        return {};
    }

    [[nodiscard]] bool enter(std::uint32_t number) const {
        errno = ENOENT;
        return made_.test(number) && ::chdir(place_of(number).c_str()) == 0;
    }

    // Not 0 for what failed without the kernel.
    static int errno_of(const Result<void>& done) {
        const int reason = done ? 0 : done.error().sys_errno;
        return done || reason != 0 ? reason : EPROTO;
    }

   private:
    // Where nothing is that the nursery or an init looks for. Not over the root: what a jar
    // unmounts there when it has its own would be this, and the host's tree would stay.
    static constexpr const char* kHolder = "/sys";

    static std::string place_of(std::uint32_t number) {
        return std::string(kHolder) + "/" + std::to_string(number);
    }

    static Result<void> make_holder() {
        BJ_TRY_VOID(make_mounts_private());
        BJ_TRY(const Fd mount,
               make_filesystem("tmpfs", {{"size", "64k"}, {"nr_inodes", "32"}, {"mode", "0700"}},
                               MOUNT_ATTR_NOSUID));
        BJ_TRY_VOID(attach_mount(mount, Fd(), kHolder));
        for (std::uint32_t number = 0; number < kMostStages; ++number) {
            if (::mkdir(place_of(number).c_str(), 0700) != 0) {
                return fail(system_error("mkdir"));
            }
        }
        return {};
    }

    [[nodiscard]] Result<void> attach(const Order& order, const Fd& pack) const {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL);
        ::alarm(kSecondsForStage);  // ends it: everybody waits, and nobody knows where a pack lies
        ::umask(022);
        BJ_TRY(const Fd stage, make_stage(order.plan, pack));
        return attach_mount(stage, Fd(), place_of(order.stage).c_str());
    }

    bool has_holder_ = false;
    std::bitset<kMostStages> made_;
};

// CLONE_PARENT: a sibling of the nursery, so that the warden itself hears of its end.
Birth bear_child(const Order& order, const Packet& packet) {
    const int cgroup = packet.fds.size() > 1 ? packet.fds[1].get() : -1;
    // A zygote has no pid namespace of its own: it could not give others to its children.
    const std::uint64_t namespaces =
        order.kind == Kind::Jar ? kNamespaces : kNamespaces & ~std::uint64_t{CLONE_NEWPID};
    const long child = clone_process(CLONE_PARENT | namespaces, cgroup, 0);
    if (child == 0) {
        if (::dup2(packet.fds[0].get(), kSocket) != kSocket ||
            ::fcntl(kSocket, F_SETFD, FD_CLOEXEC) != 0 ||
            ::syscall(SYS_close_range, kSocket + 1, ~0U, 0) != 0) {
            ::_exit(kFailed);
        }
        contain(Fd(kSocket));
    }
    return {.child = static_cast<pid_t>(child), .sys_errno = child < 0 ? errno : 0};
}

Birth obey(Stages& stages, const Order& order, const Packet& packet) {
    if (order.kind == Kind::Stage) {
        const Fd none;
        const Result<void> made = stages.make(order, packet.fds.empty() ? none : packet.fds[0]);
        return {.child = 0, .sys_errno = Stages::errno_of(made)};
    }
    // Who is born inherits the place, in its own copy of all mounts.
    if (!stages.enter(order.stage)) {
        return {.child = -1, .sys_errno = errno};
    }
    return bear_child(order, packet);
}

bool makes_sense(const Order& order, const Packet& packet) {
    return order.stage < kMostStages && order.plan.root.back() == '\0' &&
           (order.kind == Kind::Stage || !packet.fds.empty());
}

Result<void> send_order(const Fd& nursery, const Order& order, std::span<const int> fds) {
    return send_packet(nursery, std::as_bytes(std::span(&order, 1)), fds);
}

Result<Birth> receive_birth(const Fd& nursery) {
    BJ_TRY(const Packet answer, receive_packet(nursery));
    Birth birth{};
    if (answer.data.size() != sizeof(birth)) {
        return fail(system_error("the nursery is gone", EPIPE));
    }
    std::memcpy(&birth, answer.data.data(), sizeof(birth));
    return birth;
}

bool is_same_time(const timespec& one, const timespec& other) {
    return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

bool is_same_file(const struct stat& one, const struct stat& other) {
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino &&
           one.st_size == other.st_size && is_same_time(one.st_mtim, other.st_mtim);
}

// When the host chose other programs, if it ever did.
timespec time_of_alternatives() {
    struct stat status{};
    return ::stat(kAlternatives, &status) == 0 ? status.st_mtim : timespec{};
}

}  // namespace

Nursery& Nursery::operator=(Nursery&& other) noexcept {
    end();
    process_ = std::move(other.process_);
    socket_ = std::move(other.socket_);
    stages_ = std::move(other.stages_);
    oldest_ = other.oldest_;
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

bool Nursery::Stage::operator==(const Stage& other) const {
    return plan.root == other.plan.root && plan.shows_logs == other.plan.shows_logs &&
           is_same_file(pack, other.pack) && is_same_time(alternatives, other.alternatives);
}

Result<std::uint32_t> Nursery::stage_for(const SpecMessage& spec, const Fd& pack) {
    Stage wanted{.plan = {.root = spec.root, .shows_logs = spec.logs.front() != '\0' ? 1U : 0U},
                 .alternatives = time_of_alternatives()};
    if (pack.valid() && ::fstat(pack.get(), &wanted.pack) != 0) {
        return fail(system_error("fstat of a pack"));
    }
    if (const auto found = std::ranges::find(stages_, wanted); found != stages_.end()) {
        return static_cast<std::uint32_t>(found - stages_.begin());
    }
    const std::uint32_t number = oldest_;
    oldest_ = (oldest_ + 1) % kMostStages;
    stages_[number].reset();
    const int file = pack.get();
    BJ_TRY_VOID(send_order(socket_, {.kind = Kind::Stage, .stage = number, .plan = wanted.plan},
                           std::span(&file, pack.valid() ? 1 : 0)));
    BJ_TRY(const Birth made, receive_birth(socket_));
    if (made.sys_errno != 0) {
        return fail(system_error("make a stage", made.sys_errno));
    }
    stages_[number] = wanted;
    return number;
}

Result<void> Nursery::order(const Fd& socket, std::uint32_t stage, int cgroup) const {
    const std::array<int, 2> fds{socket.get(), cgroup};
    return send_order(socket_, {.kind = Kind::Jar, .stage = stage, .plan = {}},
                      std::span(fds).first(cgroup >= 0 ? 2 : 1));
}

Result<PidFd> Nursery::bear_zygote(const Fd& socket, std::uint32_t stage) const {
    const int file = socket.get();
    BJ_TRY_VOID(send_order(socket_, {.kind = Kind::Zygote, .stage = stage, .plan = {}},
                           std::span(&file, 1)));
    return take_born();
}

Result<PidFd> Nursery::take_born() const {
    BJ_TRY(const Birth birth, receive_birth(socket_));
    if (birth.child <= 0) {
        return fail(system_error("clone3", birth.sys_errno));
    }
    return PidFd::open_child(birth.child);
}

Result<PidFd> fork_init(const Fd& init, const Fd& socket) {
    const pid_t child = ::fork();
    if (child < 0) {
        return fail(system_error("fork"));
    }
    if (child == 0) {
        char name[] = "belljar-init";
        char* const arguments[] = {name, nullptr};
        execute(init, socket, arguments);
    }
    return PidFd::open(child);
}

void become_nursery(const Fd& warden) {
    ::prctl(PR_SET_NAME, "belljar-nursery", 0UL, 0UL, 0UL);
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL) != 0) {
        ::_exit(kFailed);
    }
    Stages stages;
    while (true) {
        const Result<Packet> packet = receive_packet(warden);
        Order order{};
        if (!packet || packet->data.size() != sizeof(order)) {
            ::_exit(0);  // the warden is gone
        }
        std::memcpy(&order, packet->data.data(), sizeof(order));
        if (!makes_sense(order, *packet)) {
            ::_exit(kFailed);
        }
        const Birth birth = obey(stages, order, *packet);
        if (!send_packet(warden, std::as_bytes(std::span(&birth, 1)), {})) {
            ::_exit(0);
        }
    }
}

}  // namespace belljar::jar
