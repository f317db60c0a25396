// What the kernel takes for the things that every run gets anew, made around nothing:
//
//   bare_jar SECONDS LAYERS [CGROUP ...]
//
// Over and over, one after the other: a cgroup below each CGROUP, with limits; LAYERS > 1: all
// namespaces but that of the network; > 2: the fewest mounts that programs can live on; > 3: a
// network with its loopback. A child enters them, ends, and all of it is removed. Prints how often.
// No interpreter, no filter, no uid, no server: whoever makes jars takes longer.

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "jar/mounts.h"
#include "jar/root_tree.h"
#include "jar/surroundings.h"

namespace belljar {
namespace {

constexpr std::uint64_t kMemory = std::uint64_t{256} << 20U;
constexpr int kMostTries = 2000;

enum class Layer : int { Cgroups = 1, Namespaces, Mounts, Network };

struct Cgroup {
    std::string path{};
    Fd entrance{};  // version 1: its list of processes; version 2: itself
    bool unified = false;
};

Result<void> write_to(const std::string& path, const std::string& text) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.valid()) {
        return fail(system_error(path));
    }
    return write_all(file, text);
}

// Each hierarchy has one of these, or is of version 2 and may have none.
Result<void> set_limit(const std::string& cgroup) {
    for (const auto& [name, limit] :
         {std::pair("/memory.limit_in_bytes", std::to_string(kMemory)),
          std::pair("/pids.max", std::string("64")), std::pair("/cpu.shares", std::string("512")),
          std::pair("/memory.max", std::to_string(kMemory))}) {
        if (const std::string path = cgroup + name; ::access(path.c_str(), W_OK) == 0) {
            BJ_TRY_VOID(write_to(path, limit));
        }
    }
    return {};
}

Result<Cgroup> make_cgroup(const std::string& parent, long number) {
    Cgroup made{.path = parent + "/" + std::to_string(::getpid()) + "-" + std::to_string(number)};
    if (::mkdir(made.path.c_str(), 0755) != 0) {
        return fail(system_error("mkdir " + made.path));
    }
    BJ_TRY_VOID(set_limit(made.path));
    const std::string tasks = made.path + "/tasks";
    made.unified = ::access(tasks.c_str(), F_OK) != 0;
    made.entrance = made.unified ? Fd(::open(made.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))
                                 : Fd(::open(tasks.c_str(), O_WRONLY | O_CLOEXEC));
    if (!made.entrance.valid()) {
        return fail(system_error("open " + made.path));
    }
    return made;
}

// A cgroup is in use for a moment after the end of its last process.
Result<void> remove_cgroup(const Cgroup& cgroup) {
    constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 200'000};
    for (int tries = 0; ::rmdir(cgroup.path.c_str()) != 0; ++tries) {
        if (errno != EBUSY || tries == kMostTries) {
            return fail(system_error("rmdir " + cgroup.path));
        }
        ::nanosleep(&kPause, nullptr);
    }
    return {};
}

long clone_child(Layer layers, const std::vector<Cgroup>& cgroups) {
    clone_args arguments{};
    arguments.exit_signal = SIGCHLD;
    if (layers >= Layer::Namespaces) {
        arguments.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                          CLONE_NEWCGROUP;
    }
    if (layers >= Layer::Network) {
        arguments.flags |= CLONE_NEWNET;
    }
    for (const Cgroup& cgroup : cgroups) {
        if (cgroup.unified) {
            arguments.flags |= CLONE_INTO_CGROUP;
            arguments.cgroup = static_cast<std::uint64_t>(cgroup.entrance.get());
        }
    }
    return ::syscall(SYS_clone3, &arguments, sizeof(arguments));
}

Result<void> become_root() {
    BJ_TRY_VOID(write_to("/proc/self/setgroups", "deny"));
    BJ_TRY_VOID(write_to("/proc/self/gid_map", "0 0 1\n"));
    return write_to("/proc/self/uid_map", "0 0 1\n");
}

Result<void> mount_tree() {
    BJ_TRY_VOID(jar::make_mounts_private());
    BJ_TRY(const Fd root, jar::make_filesystem("tmpfs", {{"size", "64k"}}, MOUNT_ATTR_NOSUID));
    BJ_TRY_VOID(jar::attach_mount(root, Fd(), "/tmp"));
    for (const char* name : {"usr", "proc", "dev", "tmp", "workspace"}) {
        if (::mkdirat(root.get(), name, 0755) != 0) {
            return fail(system_error("mkdir"));
        }
    }
    BJ_TRY(const Fd usr, jar::clone_mount("/usr", MOUNT_ATTR_RDONLY, jar::Depth::ThisMount));
    BJ_TRY_VOID(jar::attach_mount(usr, root, "usr"));
    BJ_TRY(const Fd proc, jar::make_filesystem("proc", {}, MOUNT_ATTR_RDONLY));
    BJ_TRY_VOID(jar::attach_mount(proc, root, "proc"));
    for (const char* name : {"dev", "tmp", "workspace"}) {
        BJ_TRY(const Fd own, jar::make_filesystem("tmpfs", {{"size", "64m"}}, MOUNT_ATTR_NOSUID));
        BJ_TRY_VOID(jar::attach_mount(own, root, name));
    }
    return jar::pivot_into(root);
}

Result<void> enter(Layer layers, const std::vector<Cgroup>& cgroups) {
    for (const Cgroup& cgroup : cgroups) {
        if (!cgroup.unified && ::write(cgroup.entrance.get(), "0", 1) != 1) {
            return fail(system_error("write tasks"));
        }
    }
    if (layers >= Layer::Namespaces) {
        BJ_TRY_VOID(become_root());
    }
    if (layers >= Layer::Network) {
        BJ_TRY_VOID(jar::raise_loopback());
    }
    return layers >= Layer::Mounts ? mount_tree() : Result<void>{};
}

int complain(const Result<void>& done) {
    std::fprintf(stderr, "bare_jar: %s\n", done.error().describe().c_str());
    return 1;
}

Result<void> make_one(Layer layers, const std::vector<std::string>& parents, long number) {
    std::vector<Cgroup> cgroups;
    for (const std::string& parent : parents) {
        BJ_TRY(Cgroup made, make_cgroup(parent, number));
        cgroups.push_back(std::move(made));
    }
    const long child = clone_child(layers, cgroups);
    if (child == 0) {
        const Result<void> entered = enter(layers, cgroups);
        ::_exit(entered ? 0 : complain(entered));
    }
    int status = 0;
    if (child < 0 || ::waitpid(static_cast<pid_t>(child), &status, 0) != child) {
        return fail(system_error("clone3"));
    }
    for (const Cgroup& cgroup : cgroups) {
        BJ_TRY_VOID(remove_cgroup(cgroup));
    }
    return status == 0 ? Result<void>{} : fail(system_error("a child failed", ECHILD));
}

}  // namespace
}  // namespace belljar

int main(int count, char** arguments) {
    if (count < 3) {
        std::fputs("bare_jar SECONDS LAYERS [CGROUP ...]\n", stderr);
        return 2;
    }
    const std::chrono::duration<double> time(std::atof(arguments[1]));
    const auto layers = static_cast<belljar::Layer>(std::atoi(arguments[2]));
    const std::vector<std::string> parents(arguments + 3, arguments + count);
    const belljar::TimePoint start = belljar::Clock::now();
    long made = 0;
    for (; belljar::Clock::now() - start < time; ++made) {
        if (const auto done = belljar::make_one(layers, parents, made); !done) {
            return belljar::complain(done);
        }
    }
    std::printf("%ld\n", made);
    return 0;
}
