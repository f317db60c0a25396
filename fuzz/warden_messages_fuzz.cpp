// Bytes -> one packet, as the warden receives it from a server that was taken over, and as the
// server and the warden receive the others.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "isolation/warden_messages.h"
#include "jar/reports.h"

namespace {

using namespace belljar;

// A command that is accepted is one that could have been encoded.
void check_launch(const isolation::LaunchMessage& message) {
    const Result<isolation::Command> command = jar::command_of(message.command);
    if (!command) {
        BJ_ASSERT(command.error().code == ErrorCode::InvalidArgument);
        return;
    }
    BJ_ASSERT(!command->arguments.empty());
    BJ_ASSERT(command->arguments.size() == message.command.argument_count);
    BJ_ASSERT(command->environment.size() == message.command.variable_count);
    const Result<isolation::LaunchMessage> again =
        isolation::make_launch(message.jar, {.command = *command,
                                             .limits = isolation::limits_of(message),
                                             .proc = message.proc,
                                             .write_execute = message.write_execute});
    BJ_ASSERT(again.has_value());
    BJ_ASSERT(again->command.text_length == message.command.text_length);
    BJ_ASSERT(again->timeout_nanoseconds == message.timeout_nanoseconds);
    const std::string_view sent(message.command.text.data(), message.command.text_length);
    BJ_ASSERT(sent == std::string_view(again->command.text.data(), again->command.text_length));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view packet(reinterpret_cast<const char*>(data), size);
    const Result<isolation::ServerMessage> from_server = isolation::decode_server_message(packet);
    if (from_server) {
        if (const auto* launch = std::get_if<isolation::LaunchMessage>(&*from_server)) {
            check_launch(*launch);
        }
    }
    const Result<isolation::WardenMessage> from_warden = isolation::decode_warden_message(packet);
    if (from_warden) {
        if (const auto* failed = std::get_if<isolation::FailedMessage>(&*from_warden)) {
            BJ_ASSERT(!jar::name_of(failed->step).empty());
        }
    }
    BJ_ASSERT(!from_server || !from_warden);
    const Result<jar::JarReport> from_jar = jar::decode_report(packet);
    BJ_ASSERT(!from_jar || from_jar->event <= jar::JarEvent::Denied);
    return 0;
}
