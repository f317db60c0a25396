// Bytes -> one packet, as the warden receives it from a server that was taken over, and as the
// server and the warden receive the others.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "isolation/jar_reports.h"
#include "isolation/warden_messages.h"

namespace {

using namespace belljar;

// A command that is accepted is one that could have been encoded.
void check_launch(const isolation::LaunchMessage& message) {
    const Result<isolation::Command> command = isolation::command_of(message);
    if (!command) {
        BJ_ASSERT(command.error().code == ErrorCode::InvalidArgument);
        return;
    }
    BJ_ASSERT(!command->arguments.empty());
    BJ_ASSERT(command->arguments.size() == message.argument_count);
    BJ_ASSERT(command->environment.size() == message.variable_count);
    const Result<isolation::LaunchMessage> again =
        isolation::make_launch(message.jar, *command, isolation::limits_of(message));
    BJ_ASSERT(again.has_value());
    BJ_ASSERT(again->text_length == message.text_length);
    BJ_ASSERT(again->timeout_nanoseconds == message.timeout_nanoseconds);
    const std::string_view sent(message.text.data(), message.text_length);
    BJ_ASSERT(sent == std::string_view(again->text.data(), again->text_length));
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
            BJ_ASSERT(!isolation::name_of(failed->step).empty());
        }
    }
    BJ_ASSERT(!from_server || !from_warden);
    const Result<isolation::JarReport> from_jar = isolation::decode_report(packet);
    BJ_ASSERT(!from_jar || from_jar->event <= isolation::JarEvent::GuestExited);
    return 0;
}
