// Bytes -> one packet, as the warden receives it from a server that was taken over, and as the
// server, the warden and init receive the others.
#include <fcntl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "isolation/warden_messages.h"
#include "jar/reports.h"
#include "jar/seqpacket.h"
#include "jar/spec.h"

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

// The lowest number that is free: another one afterwards means that a descriptor was left open.
int next_descriptor() {
    const Fd probe(::open("/dev/null", O_RDWR | O_CLOEXEC));
    return probe.get();
}

// The first byte says how many descriptors come along, and whether the rest is the packet itself or
// what stands at the beginning and in the command of one of the right size.
std::vector<std::byte> spec_packet(std::string_view data, std::size_t& descriptors) {
    constexpr std::size_t kHead = offsetof(jar::SpecMessage, root);
    const auto choice = static_cast<unsigned char>(data.empty() ? '\0' : data.front());
    data.remove_prefix(std::min<std::size_t>(data.size(), 1));
    descriptors = choice % 9;
    if (choice >= 128) {
        const auto bytes = std::as_bytes(std::span(data.substr(0, jar::kMaxPacket)));
        return {bytes.begin(), bytes.end()};
    }
    std::vector<std::byte> packet(sizeof(jar::SpecMessage));
    const auto bytes = std::as_bytes(std::span(data));
    const auto head = bytes.first(std::min(bytes.size(), kHead));
    const auto rest = bytes.subspan(head.size());
    const auto command = rest.first(std::min(rest.size(), sizeof(jar::CommandText)));
    std::ranges::copy(head, packet.begin());
    std::ranges::copy(command, packet.begin() + offsetof(jar::SpecMessage, command));
    return packet;
}

void check_spec(std::string_view data) {
    const int before = next_descriptor();
    {
        const jar::SocketPair sockets = jar::make_seqpacket_pair().value();
        const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
        std::size_t count = 0;
        const std::vector<std::byte> packet = spec_packet(data, count);
        const std::vector<int> numbers(count, nothing.get());
        BJ_ASSERT(jar::send_packet(sockets.first, packet, numbers).has_value());
        const Result<jar::Spec> spec = jar::receive_spec(sockets.second);
        if (spec) {
            BJ_ASSERT(std::ranges::all_of(spec->descriptors, &Fd::valid));
            BJ_ASSERT(std::ranges::all_of(spec->cgroup_files, &Fd::valid));
            BJ_ASSERT(spec->cgroup_files.size() == spec->message.cgroup_files);
            BJ_ASSERT(!spec->command.arguments.empty());
        }
    }
    BJ_ASSERT(next_descriptor() == before);
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
    BJ_ASSERT(!from_jar || from_jar->event <= jar::kLastJarEvent);
    check_spec(packet);
    return 0;
}
