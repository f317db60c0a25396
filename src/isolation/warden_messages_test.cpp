#include "isolation/warden_messages.h"

#include <gtest/gtest.h>

namespace belljar::isolation {
namespace {

template <typename Message>
std::string encoded(const Message& message) {
    const jar::SocketPair sockets = jar::make_seqpacket_pair().value();
    EXPECT_TRUE(send_message(sockets.first, message));
    return jar::receive_packet(sockets.second).value().data;
}

const Command kCommand{.arguments = {"/usr/bin/python3", "-I", "", "h\xC3\xA9"},
                       .environment = {"HOME=/workspace", "EMPTY="}};

LaunchMessage launch_message() { return make_launch(42, {.command = kCommand}).value(); }

ConfigureMessage configure_message() {
    ConfigureMessage message{};
    message.first_user_id = 2'000'000'000;
    message.user_id_count = 7;
    message.server_pid = 99;
    message.root = to_host_path("/srv/root").value();
    return message;
}

TEST(WardenMessages, EveryServerMessageComesThrough) {
    const ServerMessage configure = decode_server_message(encoded(configure_message())).value();
    EXPECT_EQ(std::get<ConfigureMessage>(configure).first_user_id, 2'000'000'000U);
    EXPECT_EQ(std::get<ConfigureMessage>(configure).user_id_count, 7U);
    EXPECT_EQ(std::get<ConfigureMessage>(configure).server_pid, 99U);
    EXPECT_STREQ(std::get<ConfigureMessage>(configure).root.data(), "/srv/root");

    const ServerMessage launch = decode_server_message(encoded(launch_message())).value();
    EXPECT_EQ(std::get<LaunchMessage>(launch).jar, 42U);
    EXPECT_EQ(std::get<LaunchMessage>(launch).waits, 0U) << "unless somebody says so";

    const ServerMessage order =
        decode_server_message(encoded(KillMessage{.jar = 3, .reason = KillReason::Output})).value();
    EXPECT_EQ(std::get<KillMessage>(order).jar, 3U);
    EXPECT_EQ(std::get<KillMessage>(order).reason, KillReason::Output);

    const StartMessage sent{.jar = 4,
                            .timeout_nanoseconds = 5,
                            .memory_bytes = 6,
                            .cpu_thousandths = 7,
                            .cell = 1,
                            .keeps_files = 1};
    const auto start = std::get<StartMessage>(decode_server_message(encoded(sent)).value());
    EXPECT_EQ(start.jar, 4U);
    EXPECT_EQ(start.timeout_nanoseconds, 5);
    EXPECT_EQ(start.memory_bytes, 6U);
    EXPECT_EQ(start.cpu_thousandths, 7U);
}

TEST(WardenMessages, EveryWardenMessageComesThrough) {
    const WardenMessage ready =
        decode_warden_message(encoded(ReadyMessage{.layers = 0x7F, .mode = jar::Mode::Nested}))
            .value();
    EXPECT_EQ(std::get<ReadyMessage>(ready).layers, 0x7FU);
    const WardenMessage started = decode_warden_message(encoded(StartedMessage{.jar = 1})).value();
    EXPECT_EQ(std::get<StartedMessage>(started).jar, 1U);
    const WardenMessage failed =
        decode_warden_message(
            encoded(FailedMessage{.jar = 2, .step = Step::PivotRoot, .sys_errno = 22}))
            .value();
    EXPECT_EQ(std::get<FailedMessage>(failed).step, Step::PivotRoot);
    EXPECT_EQ(std::get<FailedMessage>(failed).sys_errno, 22);

    EndedMessage sent{};
    sent.jar = UINT64_MAX;
    sent.kill_reason = KillReason::Deadline;
    sent.wait_status = 9;
    sent.disk_used_bytes = 4096;
    const WardenMessage ended = decode_warden_message(encoded(sent)).value();
    EXPECT_EQ(std::get<EndedMessage>(ended).jar, UINT64_MAX);
    EXPECT_EQ(std::get<EndedMessage>(ended).kill_reason, KillReason::Deadline);
    EXPECT_EQ(std::get<EndedMessage>(ended).wait_status, 9);
    EXPECT_EQ(std::get<EndedMessage>(ended).disk_used_bytes, 4096U);
}

TEST(WardenMessages, RefuseTheWrongSize) {
    for (const std::string& data : {encoded(ConfigureMessage{}), encoded(launch_message()),
                                    encoded(KillMessage{}), encoded(StartMessage{})}) {
        EXPECT_TRUE(decode_server_message(data));
        EXPECT_FALSE(decode_server_message(data + '\0'));
        EXPECT_FALSE(decode_server_message(std::string_view(data).substr(0, data.size() - 1)));
        EXPECT_FALSE(decode_server_message(std::string_view(data).substr(0, 4)));
    }
    const std::string ended = encoded(EndedMessage{});
    EXPECT_FALSE(decode_warden_message(ended + '\0'));
    EXPECT_FALSE(decode_warden_message(std::string_view(ended).substr(1)));
}

TEST(WardenMessages, RefuseAnUnknownType) {
    std::string data = encoded(KillMessage{});
    for (const std::uint32_t type : {0U, 1U, 2U, 4U, 16U, UINT32_MAX}) {
        std::memcpy(data.data(), &type, sizeof(type));
        EXPECT_EQ(decode_server_message(data).error().code, ErrorCode::InvalidArgument) << type;
    }
    EXPECT_FALSE(decode_server_message(""));
    EXPECT_FALSE(decode_server_message("abc"));
}

TEST(WardenMessages, NeitherSideTakesTheOthersMessages) {
    EXPECT_FALSE(decode_server_message(encoded(ReadyMessage{})));
    EXPECT_FALSE(decode_server_message(encoded(EndedMessage{})));
    EXPECT_FALSE(decode_warden_message(encoded(ConfigureMessage{})));
    EXPECT_FALSE(decode_warden_message(encoded(KillMessage{})));
    EXPECT_FALSE(decode_warden_message(encoded(StartMessage{})));
    EXPECT_FALSE(decode_warden_message(encoded(launch_message())));
}

TEST(WardenMessages, EveryMessageFitsAPacket) {
    static_assert(sizeof(LaunchMessage) + sizeof(std::uint32_t) <= jar::kMaxPacket);
    static_assert(kGuestFdCount <= jar::kMaxPacketFds);
    EXPECT_EQ(static_cast<std::size_t>(GuestFd::Report) + 1, kGuestFdCount);
}

TEST(LaunchCommand, ComesThroughUnchanged) {
    const Command command = jar::command_of(launch_message().command).value();
    EXPECT_EQ(command.arguments, kCommand.arguments);
    EXPECT_EQ(command.environment, kCommand.environment);
}

TEST(LaunchCommand, LimitsComeThroughUnchanged) {
    execution::Limits limits;
    limits.timeout = std::chrono::milliseconds(1500);
    limits.memory = mebibytes(77);
    limits.cpu = 0.25;
    limits.processes = 9;
    limits.tmp = mebibytes(5);
    limits.workspace = mebibytes(6);
    const execution::Limits received =
        limits_of(make_launch(1, {.command = kCommand, .limits = limits}).value());
    EXPECT_EQ(received.timeout, limits.timeout);
    EXPECT_EQ(received.memory, limits.memory);
    EXPECT_EQ(received.cpu, limits.cpu);
    EXPECT_EQ(received.processes, limits.processes);
    EXPECT_EQ(received.tmp, limits.tmp);
    EXPECT_EQ(received.workspace, limits.workspace);
}

TEST(WardenMessages, AZygoteForksItsGuest) {
    EXPECT_EQ(launch_message().guest, jar::GuestKind::Program);
    const Launch launcher{.command = kCommand, .guest = jar::GuestKind::Launcher};
    EXPECT_EQ(make_launch(1, launcher)->guest, jar::GuestKind::Launcher);
    EXPECT_EQ(make_launch(1, {.command = kCommand, .zygote = 3})->guest, jar::GuestKind::Fork);
}

}  // namespace
}  // namespace belljar::isolation
