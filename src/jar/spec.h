#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "execution/limits.h"
#include "jar/command.h"

// What the warden tells the init of one jar: everything that is needed to close itself in, in one
// packet of fixed size, with the descriptors beside it.
namespace belljar::jar {

// The id that the guest and its init have inside every jar that has a user namespace.
inline constexpr uid_t kInnerUser = 1000;

// The descriptors a guest is born with, at these numbers. The first three are pipes.
enum class GuestFd : std::uint32_t { Stdin, Stdout, Stderr, Program, Request, Report };
inline constexpr std::size_t kGuestFdCount = 6;

// With which means jars are built on this host, strongest first.
enum class Mode : std::uint32_t {
    Root,      // namespaces made by real root, a host user id for each jar
    Rootless,  // the same inside a user namespace of an ordinary user
    Nested,    // no namespaces: Landlock, seccomp, limits, and a user id where possible
};

[[nodiscard]] std::string_view name_of(Mode mode);

enum class WorkspaceKind : std::uint32_t {
    Memory,     // tmpfs
    Mount,      // a file system given as a descriptor, not attached yet
    Directory,  // in a directory given as a descriptor; only without namespaces
};

enum class ProcView : std::uint32_t {
    ProcessesOnly,  // /proc has nothing but the jar's own processes
    Masked,         // and what programs like to know of the machine: processors, memory, uptime
};

enum class WriteExecute : std::uint32_t {
    Allowed,  // for just-in-time compilers
    Denied,   // memory is never writable and executable, PR_SET_MDWE
};

enum class GuestKind : std::uint32_t {
    Program,   // init executes the command
    Fork,      // of a warm interpreter, which comes into the jar from outside
    Zygote,    // no jar: this process becomes that interpreter
    Launcher,  // init's child reads from its request what to execute
};

// A path on the host, ended by a NUL byte; empty if there is none.
using HostPath = std::array<char, 512>;

// InvalidArgument if the path is too long.
[[nodiscard]] Result<HostPath> to_host_path(const std::string& path);

// Fixed size, as it travels.
struct SpecMessage {
    Mode mode;
    GuestKind guest;
    WorkspaceKind workspace;
    ProcView proc;
    WriteExecute write_execute;
    std::uint32_t landlock_abi;       // 0: this kernel has none
    std::uint32_t own_user;           // 1: `outer_user` belongs to this jar alone
    std::uint32_t memory_by_process;  // 1: no cgroup limits memory
    std::uint32_t processes_by_user;  // 1: no cgroup limits processes
    std::uint32_t processor_by_nice;  // 1: no cgroup shares out the processor
    std::uint32_t outer_user;         // of the guest, in the user namespace around the jar's
    std::uint32_t cgroup_files;       // how many files of cgroups come along
    std::uint32_t has_courier;        // 1: the courier's socket comes along
    std::uint32_t processes;
    std::uint64_t memory_bytes;
    std::uint64_t tmp_bytes;
    std::uint64_t workspace_bytes;
    HostPath root;  // where the system directories come from; empty: the host's own
    HostPath logs;  // shown at /logs; empty: nothing
    CommandText command;
};

// The same as init uses it. Packet order: guest descriptors, the socket to a forked guest, a
// workspace that is a directory, the courier's socket, files of cgroups. What takes time to make
// comes in a packet of its own while init is at work.
struct Spec {
    SpecMessage message{};
    Command command{};
    std::array<Fd, kGuestFdCount> descriptors{};
    Fd guest_socket{};               // with GuestKind::Fork, which has the other end
    Fd workspace{};                  // not with WorkspaceKind::Memory
    Fd devices{};                    // of /dev, not attached yet; Mode::Root only
    Fd courier{};                    // to the server, for files; init's alone
    std::uint32_t stage = 0;         // where its init is born (nursery.h); the warden's alone
    std::vector<Fd> cgroup_files{};  // of those it is not born in: "0" is written into each
};

// Sends a spec; every descriptor is borrowed for the call.
[[nodiscard]] Result<void> send_spec(const Fd& socket, const Spec& spec);
[[nodiscard]] Result<Spec> receive_spec(const Fd& socket);

// The same for the devices and a workspace that is a mount; not without namespaces.
[[nodiscard]] Result<void> send_mounts(const Fd& socket, const Spec& spec);
[[nodiscard]] Result<void> receive_mounts(const Fd& socket, Spec& spec);

}  // namespace belljar::jar
