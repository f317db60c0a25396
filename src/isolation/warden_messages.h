#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/result.h"
#include "execution/limits.h"
#include "execution/raw_exit.h"
#include "isolation/seqpacket.h"
#include "isolation/step.h"

// Everything that server and warden say to each other: fixed binary structures, one per packet,
// both ends of the same build. The warden treats what it receives as hostile: the server parses the
// outside world and may have been taken over.
namespace belljar::isolation {

using JarId = std::uint64_t;

// The descriptors a guest is born with, at these numbers. The first three are pipes.
enum class GuestFd : std::uint32_t { Stdin, Stdout, Stderr, Program, Request, Report };
inline constexpr std::size_t kGuestFdCount = 6;

using execution::KillReason;

// The layers that hold for every jar of this warden, found out at its start.
enum class Layer : std::uint32_t {
    Namespaces = 1U << 0U,
    UniqueUser = 1U << 1U,
    NoCapabilities = 1U << 2U,
    ReadOnlyRoot = 1U << 3U,
    MemoryLimit = 1U << 4U,
    ProcessLimit = 1U << 5U,
    CpuShare = 1U << 6U,
};

// --- server to warden

struct ConfigureMessage {
    static constexpr std::uint32_t kType = 1;
    std::uint32_t first_user_id;
    std::uint32_t user_id_count;
    std::uint32_t server_pid;
};

struct LaunchMessage {
    static constexpr std::uint32_t kType = 2;
    JarId jar;
    std::int64_t timeout_nanoseconds;
    std::uint64_t memory_bytes;
    std::uint64_t tmp_bytes;
    std::uint64_t workspace_bytes;
    std::uint32_t cpu_thousandths;
    std::uint32_t processes;
    std::uint32_t argument_count;
    std::uint32_t variable_count;
    std::uint32_t text_length;
    // argument_count and then variable_count strings, each ended by a NUL byte.
    std::array<char, 8192> text;
};

struct KillMessage {
    static constexpr std::uint32_t kType = 3;
    JarId jar;
    KillReason reason;
};

// --- warden to server

struct ReadyMessage {
    static constexpr std::uint32_t kType = 16;
    std::uint32_t layers;  // Layer bits
};

struct StartedMessage {
    static constexpr std::uint32_t kType = 17;
    JarId jar;
};

struct FailedMessage {
    static constexpr std::uint32_t kType = 18;
    JarId jar;
    Step step;
    std::int32_t sys_errno;
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
};

// --- encoding

template <typename Message>
[[nodiscard]] Result<void> send_message(const Fd& socket, const Message& message,
                                        std::span<const int> fds = {}) {
    static_assert(std::is_trivially_copyable_v<Message>);
    std::vector<std::byte> data(sizeof(std::uint32_t) + sizeof(Message));
    const std::uint32_t type = Message::kType;
    std::memcpy(data.data(), &type, sizeof(type));
    std::memcpy(data.data() + sizeof(type), &message, sizeof(Message));
    return send_packet(socket, data, fds);
}

using ServerMessage = std::variant<ConfigureMessage, LaunchMessage, KillMessage>;
using WardenMessage = std::variant<ReadyMessage, StartedMessage, FailedMessage, EndedMessage>;

// Exactly one known message of exactly its size, or an error.
[[nodiscard]] Result<ServerMessage> decode_server_message(std::string_view data);
[[nodiscard]] Result<WardenMessage> decode_warden_message(std::string_view data);

// --- the command inside a LaunchMessage

struct Command {
    std::vector<std::string> arguments{};
    std::vector<std::string> environment{};  // NAME=value
};

[[nodiscard]] Result<LaunchMessage> make_launch(JarId jar, const Command& command,
                                                const execution::Limits& limits);
[[nodiscard]] Result<Command> command_of(const LaunchMessage& message);
[[nodiscard]] execution::Limits limits_of(const LaunchMessage& message);

}  // namespace belljar::isolation
