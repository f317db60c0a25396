#include "isolation/warden_messages.h"

#include <cstring>

namespace belljar::isolation {
namespace {

template <typename Message>
Message copy_out(std::string_view body) {
    Message message;
    std::memcpy(&message, body.data(), sizeof(Message));
    return message;
}

// Tries each alternative of the variant in turn: the type must match and the size must be exact.
template <typename Variant, std::size_t Index = 0>
Result<Variant> decode(std::string_view data) {
    if constexpr (Index == std::variant_size_v<Variant>) {
        return fail(ErrorCode::InvalidArgument, "unknown message, or a message of the wrong size");
    } else {
        using Message = std::variant_alternative_t<Index, Variant>;
        std::uint32_t type = 0;
        if (data.size() == sizeof(type) + sizeof(Message)) {
            std::memcpy(&type, data.data(), sizeof(type));
            if (type == Message::kType) {
                return Variant(copy_out<Message>(data.substr(sizeof(type))));
            }
        }
        return decode<Variant, Index + 1>(data);
    }
}

}  // namespace

Result<ServerMessage> decode_server_message(std::string_view data) {
    return decode<ServerMessage>(data);
}

Result<WardenMessage> decode_warden_message(std::string_view data) {
    return decode<WardenMessage>(data);
}

Result<LaunchMessage> make_launch(JarId jar, const Launch& launch) {
    const execution::Limits& limits = launch.limits;
    LaunchMessage message{};
    message.jar = jar;
    message.timeout_nanoseconds = limits.timeout.count();
    message.memory_bytes = limits.memory.count;
    message.tmp_bytes = limits.tmp.count;
    message.workspace_bytes = limits.workspace.count;
    message.cpu_thousandths = static_cast<std::uint32_t>(limits.cpu * 1000.0);
    message.processes = limits.processes;
    message.proc = launch.proc;
    message.write_execute = launch.write_execute;
    message.zygote = launch.zygote;
    message.guest = launch.zygote == 0 ? launch.guest : jar::GuestKind::Fork;
    message.shows_logs = launch.logs == Logs::Shown ? 1 : 0;
    message.in_memory = launch.disk == Disk::None ? 1 : 0;
    BJ_TRY(message.command, jar::to_text(launch.command));
    return message;
}

execution::Limits limits_of(const LaunchMessage& message) {
    execution::Limits limits;
    limits.timeout = Duration(message.timeout_nanoseconds);
    limits.memory = Bytes{message.memory_bytes};
    limits.tmp = Bytes{message.tmp_bytes};
    limits.workspace = Bytes{message.workspace_bytes};
    limits.cpu = static_cast<double>(message.cpu_thousandths) / 1000.0;
    limits.processes = message.processes;
    return limits;
}

}  // namespace belljar::isolation
