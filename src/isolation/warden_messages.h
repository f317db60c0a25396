#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/result.h"
#include "execution/layer.h"
#include "execution/limits.h"
#include "execution/raw_exit.h"
#include "jar/denial_record.h"
#include "jar/seqpacket.h"
#include "jar/spec.h"
#include "jar/step.h"

// Everything that server and warden say to each other: fixed binary structures, one per packet,
// both ends of the same build. The warden treats what it receives as hostile: the server parses the
// outside world and may have been taken over.
namespace belljar::isolation {

using JarId = std::uint64_t;

using execution::bit;
using execution::KillReason;
using execution::Layer;
using jar::Command;
using jar::GuestFd;
using jar::kGuestFdCount;
using jar::Packet;
using jar::Step;
using jar::to_host_path;

// --- server to warden

struct ConfigureMessage {
    static constexpr std::uint32_t kType = 1;
    std::uint32_t first_user_id;
    std::uint32_t user_id_count;
    std::uint32_t server_pid;
    std::uint32_t root_is_image;
    std::uint64_t workspace_bytes;
    jar::HostPath root;     // directory or erofs image of the system; empty: the host's own
    jar::HostPath logs;     // directory shown at /logs to jars that ask for it; may be empty
    jar::HostPath scratch;  // directory for the disk space of jars
};

// With the guest's descriptors and, after them, the courier's socket if the jar has a courier, and
// then what is shown at /tools, if there is any.
struct LaunchMessage {
    static constexpr std::uint32_t kType = 2;
    JarId jar;
    std::int64_t timeout_nanoseconds;
    std::uint64_t memory_bytes;
    std::uint64_t tmp_bytes;
    std::uint64_t workspace_bytes;
    std::uint32_t cpu_thousandths;
    std::uint32_t processes;
    jar::ProcView proc;
    jar::WriteExecute write_execute;
    std::uint32_t zygote;      // who forks the guest; 0: nobody
    jar::GuestKind guest;      // Fork with a zygote; else Program or Launcher
    std::uint32_t waits;       // 1: the run begins with a StartMessage, and its clock only then
    std::uint32_t has_tools;   // 1: the last descriptor is a pack of tools
    std::uint32_t shows_logs;  // 1: the directory of logs is shown at /logs
    std::uint32_t in_memory;   // 1: /workspace is kept in memory, and counts as such
    jar::CommandText command;
};

// Starts an interpreter that forks guests. With its bootstrap program as a descriptor.
struct ZygoteMessage {
    static constexpr std::uint32_t kType = 5;
    std::uint32_t zygote;  // never used before, not 0
    jar::ProcView proc;
    jar::CommandText command;
};

// It forks no more; its guests go on.
struct RetireMessage {
    static constexpr std::uint32_t kType = 6;
    std::uint32_t zygote;
};

struct KillMessage {
    static constexpr std::uint32_t kType = 3;
    JarId jar;
    KillReason reason;
};

// Begins the run of a jar that waits; its other limits stay as they were made.
struct StartMessage {
    static constexpr std::uint32_t kType = 4;
    JarId jar;
    std::int64_t timeout_nanoseconds;
    std::uint64_t memory_bytes;
    std::uint32_t cpu_thousandths;
    // 1: a cell of a session, which others may follow. If memory runs out, one process ends and not
    // the jar.
    std::uint32_t cell;
    // 1: what ends the run leaves init the time to send the files back.
    std::uint32_t keeps_files;
};

// A cell has ended: stops the clock, and a SeenMessage says what the cell used.
struct LookMessage {
    static constexpr std::uint32_t kType = 7;
    JarId jar;
};

// --- warden to server

struct ReadyMessage {
    static constexpr std::uint32_t kType = 16;
    std::uint32_t layers;  // Layer bits
    jar::Mode mode;
};

struct StartedMessage {
    static constexpr std::uint32_t kType = 17;
    JarId jar;
};

// A zygote can be used from now on or, with `ready` 0, no longer.
struct ZygoteStateMessage {
    static constexpr std::uint32_t kType = 21;
    std::uint32_t zygote;
    std::uint32_t ready;
};

struct FailedMessage {
    static constexpr std::uint32_t kType = 18;
    JarId jar;
    Step step;
    std::int32_t sys_errno;
};

// The kernel refused a call of the guest, for the first time of its kind.
struct DeniedMessage {
    static constexpr std::uint32_t kType = 20;
    JarId jar;
    jar::DenialRecord record;
};

// The guest is about to open its first internet socket. With files in which the kernel counts what
// is sent in the jar's network.
struct NetworkMessage {
    static constexpr std::uint32_t kType = 23;
    JarId jar;
};

struct EndedMessage {
    static constexpr std::uint32_t kType = 19;
    JarId jar;
    KillReason kill_reason;
    std::uint32_t exited;      // 1 if the guest's main process ended by itself
    std::int32_t wait_status;  // of the guest's main process, as wait(2) gives it
    std::uint64_t wall_nanoseconds;
    std::uint64_t cpu_nanoseconds;
    std::uint64_t memory_peak_bytes;
    std::uint64_t out_of_memory_kills;
    std::uint64_t processes_peak;
    std::uint64_t process_limit_hits;
    std::uint64_t disk_used_bytes;
    std::uint32_t disk_full;  // 1 if /workspace or /tmp had no room left at the end
};

// What a cell used, in the form of an end; the jar goes on.
struct SeenMessage {
    static constexpr std::uint32_t kType = 22;
    EndedMessage cell;
};

// --- encoding

template <typename Message>
[[nodiscard]] std::vector<std::byte> encode_message(const Message& message) {
    static_assert(std::is_trivially_copyable_v<Message>);
    std::vector<std::byte> data(sizeof(std::uint32_t) + sizeof(Message));
    const std::uint32_t type = Message::kType;
    std::memcpy(data.data(), &type, sizeof(type));
    std::memcpy(data.data() + sizeof(type), &message, sizeof(Message));
    return data;
}

template <typename Message>
[[nodiscard]] Result<void> send_message(const Fd& socket, const Message& message,
                                        std::span<const int> fds = {}) {
    return jar::send_packet(socket, encode_message(message), fds);
}

using ServerMessage = std::variant<ConfigureMessage, LaunchMessage, KillMessage, StartMessage,
                                   ZygoteMessage, RetireMessage, LookMessage>;
using WardenMessage = std::variant<ReadyMessage, StartedMessage, FailedMessage, DeniedMessage,
                                   EndedMessage, ZygoteStateMessage, SeenMessage, NetworkMessage>;

// Exactly one known message of exactly its size, or an error.
[[nodiscard]] Result<ServerMessage> decode_server_message(std::string_view data);
[[nodiscard]] Result<WardenMessage> decode_warden_message(std::string_view data);

// --- what a launch asks for

enum class Logs { Hidden, Shown };
enum class Disk { Own, None };  // None: for a program that has no way to a file

struct Launch {
    Command command{};
    execution::Limits limits{};
    jar::ProcView proc = jar::ProcView::ProcessesOnly;
    jar::WriteExecute write_execute = jar::WriteExecute::Allowed;
    std::uint32_t zygote = 0;
    jar::GuestKind guest = jar::GuestKind::Program;  // without a zygote
    Logs logs = Logs::Hidden;
    Disk disk = Disk::Own;
};

[[nodiscard]] Result<LaunchMessage> make_launch(JarId jar, const Launch& launch);
[[nodiscard]] execution::Limits limits_of(const LaunchMessage& message);

}  // namespace belljar::isolation
