#include "jar/reports.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace belljar::jar {
namespace {

std::string bytes_of(const JarReport& report) {
    std::string data(sizeof(report), '\0');
    std::memcpy(data.data(), &report, sizeof(report));
    return data;
}

TEST(JarReports, ComeThroughASocketUnchanged) {
    const SocketPair sockets = make_seqpacket_pair().value();
    for (const JarEvent event : {JarEvent::TreeStands, JarEvent::GuestStarts, JarEvent::StepFailed,
                                 JarEvent::GuestExited, JarEvent::Denied, JarEvent::NobodyLeft}) {
        const JarReport sent{.event = event, .step = Step::MountProc, .value = -13, .denial = {}};
        ASSERT_TRUE(send_report(sockets.first, sent));
        const Packet packet = receive_packet(sockets.second).value();
        const JarReport received = decode_report(packet.data).value();
        EXPECT_EQ(received.event, event);
        EXPECT_EQ(received.step, Step::MountProc);
        EXPECT_EQ(received.value, -13);
        EXPECT_TRUE(packet.fds.empty());
    }
}

TEST(JarReports, CarryADescriptor) {
    const SocketPair sockets = make_seqpacket_pair().value();
    const Fd file = make_sealed_file("test", "workspace").value();
    const int number = file.get();
    ASSERT_TRUE(send_report(sockets.first,
                            {.event = JarEvent::TreeStands, .step = {}, .value = 0, .denial = {}},
                            std::span(&number, 1)));
    const Packet packet = receive_packet(sockets.second).value();
    ASSERT_EQ(packet.fds.size(), 1U);
    EXPECT_EQ(read_all(packet.fds.front(), kibibytes(1)).value(), "workspace");
}

TEST(JarReports, RefuseTheWrongSize) {
    const std::string data =
        bytes_of({.event = JarEvent::GuestExited, .step = Step::Execute, .value = 0, .denial = {}});
    EXPECT_TRUE(decode_report(data));
    EXPECT_FALSE(decode_report(""));
    EXPECT_FALSE(decode_report(data + '\0'));
    for (std::size_t size = 1; size < data.size(); ++size) {
        EXPECT_FALSE(decode_report(std::string_view(data).substr(0, size))) << size;
    }
}

TEST(JarReports, RefuseAnUnknownEvent) {
    std::string data =
        bytes_of({.event = JarEvent::GuestExited, .step = {}, .value = 0, .denial = {}});
    for (const std::uint32_t event :
         {static_cast<std::uint32_t>(kLastJarEvent) + 1, 255U, UINT32_MAX}) {
        std::memcpy(data.data(), &event, sizeof(event));
        EXPECT_EQ(decode_report(data).error().code, ErrorCode::InvalidArgument) << event;
    }
}

TEST(JarReports, SayWhenNobodyListens) {
    SocketPair sockets = make_seqpacket_pair().value();
    sockets.second.reset();
    EXPECT_FALSE(send_report(
        sockets.first, {.event = JarEvent::GuestStarts, .step = {}, .value = 0, .denial = {}}));
}

}  // namespace
}  // namespace belljar::jar
