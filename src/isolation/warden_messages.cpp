#include "isolation/warden_messages.h"

#include <algorithm>
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

Result<void> append(LaunchMessage& message, const std::string& text) {
    if (text.find('\0') != std::string::npos) {
        return fail(ErrorCode::InvalidArgument, "a NUL byte in the command");
    }
    if (text.size() + 1 > message.text.size() - message.text_length) {
        return fail(ErrorCode::TooLarge, "the command is too long");
    }
    std::ranges::copy(text, message.text.begin() + message.text_length);
    message.text_length += static_cast<std::uint32_t>(text.size() + 1);
    return {};
}

}  // namespace

Result<ServerMessage> decode_server_message(std::string_view data) {
    return decode<ServerMessage>(data);
}

Result<WardenMessage> decode_warden_message(std::string_view data) {
    return decode<WardenMessage>(data);
}

Result<LaunchMessage> make_launch(JarId jar, const Command& command,
                                  const execution::Limits& limits) {
    LaunchMessage message{};
    message.jar = jar;
    message.timeout_nanoseconds = limits.timeout.count();
    message.memory_bytes = limits.memory.count;
    message.tmp_bytes = limits.tmp.count;
    message.workspace_bytes = limits.workspace.count;
    message.cpu_thousandths = static_cast<std::uint32_t>(limits.cpu * 1000.0);
    message.processes = limits.processes;
    message.argument_count = static_cast<std::uint32_t>(command.arguments.size());
    message.variable_count = static_cast<std::uint32_t>(command.environment.size());
    for (const std::string& argument : command.arguments) {
        BJ_TRY_VOID(append(message, argument));
    }
    for (const std::string& variable : command.environment) {
        BJ_TRY_VOID(append(message, variable));
    }
    return message;
}

Result<Command> command_of(const LaunchMessage& message) {
    if (message.text_length > message.text.size() || message.argument_count == 0) {
        return fail(ErrorCode::InvalidArgument, "a malformed command");
    }
    std::string_view rest(message.text.data(), message.text_length);
    std::vector<std::string> strings;
    while (!rest.empty()) {
        const std::size_t end = rest.find('\0');
        if (end == std::string_view::npos) {
            return fail(ErrorCode::InvalidArgument, "a malformed command");
        }
        strings.emplace_back(rest.substr(0, end));
        rest.remove_prefix(end + 1);
    }
    const std::uint64_t expected =
        std::uint64_t{message.argument_count} + std::uint64_t{message.variable_count};
    if (strings.size() != expected) {
        return fail(ErrorCode::InvalidArgument, "a malformed command");
    }
    const auto middle = strings.begin() + message.argument_count;
    return Command{.arguments = {strings.begin(), middle}, .environment = {middle, strings.end()}};
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
