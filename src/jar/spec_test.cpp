#include "jar/spec.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "jar/seqpacket.h"

namespace belljar::jar {
namespace {

Fd open_null() { return Fd(::open("/dev/null", O_RDWR | O_CLOEXEC)); }

ino_t inode_of(const Fd& fd) {
    struct stat status{};
    EXPECT_EQ(::fstat(fd.get(), &status), 0);
    return status.st_ino;
}

std::size_t count_open_descriptors() {
    const std::filesystem::directory_iterator entries("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

constexpr std::size_t kFds = kGuestFdCount;

class SpecTest : public testing::Test {
   protected:
    void SetUp() override {
        sockets = make_seqpacket_pair().value();
        spec.message.mode = Mode::Root;
        spec.message.workspace = WorkspaceKind::Memory;
        spec.message.proc = ProcView::Masked;
        spec.message.write_execute = WriteExecute::Denied;
        spec.message.landlock_abi = 6;
        spec.message.own_user = 1;
        spec.message.outer_user = 1'234'567;
        spec.message.processes = 64;
        spec.message.memory_bytes = 256U << 20U;
        spec.message.tmp_bytes = 64U << 20U;
        spec.message.workspace_bytes = 1U << 30U;
        std::strcpy(spec.message.root.data(), "/srv/root");
        std::strcpy(spec.message.logs.data(), "/srv/logs");
        spec.message.command = to_text({.arguments = {"/usr/bin/python3", "-I", ""},
                                        .environment = {"HOME=/workspace"}})
                                   .value();
        for (Fd& fd : spec.descriptors) {
            fd = make_sealed_file("spec-test", "x").value();
        }
    }

    // Sends bytes with `count` descriptors, whatever the bytes say of their number.
    void send_raw(std::span<const std::byte> data, std::size_t count) {
        const Fd nothing = open_null();
        const std::vector<int> numbers(count, nothing.get());
        ASSERT_TRUE(send_packet(sockets.first, data, numbers));
    }
    void send_raw(std::size_t count) {
        send_raw(std::as_bytes(std::span(&spec.message, 1)), count);
    }

    // Refused as malformed, and nothing that came along stays open.
    void expect_refused() {
        const std::size_t before = count_open_descriptors();
        const Result<Spec> received = receive_spec(sockets.second);
        ASSERT_FALSE(received);
        EXPECT_EQ(received.error().sys_errno, EPROTO);
        EXPECT_EQ(count_open_descriptors(), before);
    }

    SocketPair sockets;
    Spec spec;
};

TEST_F(SpecTest, ArrivesAsItWasSent) {
    ASSERT_TRUE(send_spec(sockets.first, spec));
    const Spec received = receive_spec(sockets.second).value();
    EXPECT_EQ(std::memcmp(&received.message, &spec.message, sizeof(SpecMessage)), 0);
    EXPECT_EQ(received.command.arguments, (std::vector<std::string>{"/usr/bin/python3", "-I", ""}));
    EXPECT_EQ(received.command.environment, std::vector<std::string>{"HOME=/workspace"});
    EXPECT_FALSE(received.workspace.valid());
    EXPECT_TRUE(received.cgroup_files.empty());
    for (std::size_t index = 0; index < kGuestFdCount; ++index) {
        EXPECT_EQ(inode_of(received.descriptors[index]), inode_of(spec.descriptors[index]));
        EXPECT_EQ(::fcntl(received.descriptors[index].get(), F_GETFD), FD_CLOEXEC);
    }
}

TEST_F(SpecTest, DescriptorsKeepTheirOrder) {
    spec.message.workspace = WorkspaceKind::Directory;
    spec.message.cgroup_files = 99;  // what is sent is counted
    spec.workspace = Fd(::open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (const char* path : {"/proc/self/stat", "/proc/self/maps", "/proc/self/status"}) {
        spec.cgroup_files.emplace_back(::open(path, O_RDONLY | O_CLOEXEC));
    }
    ASSERT_TRUE(send_spec(sockets.first, spec));
    const Spec received = receive_spec(sockets.second).value();
    EXPECT_EQ(inode_of(received.descriptors.front()), inode_of(spec.descriptors.front()));
    EXPECT_EQ(inode_of(received.workspace), inode_of(spec.workspace));
    EXPECT_EQ(received.message.cgroup_files, 3U);
    ASSERT_EQ(received.cgroup_files.size(), 3U);
    for (std::size_t index = 0; index < 3; ++index) {
        EXPECT_EQ(inode_of(received.cgroup_files[index]), inode_of(spec.cgroup_files[index]));
    }
}

TEST_F(SpecTest, ADescriptorThatIsMissingIsNotSent) {
    spec.descriptors[3].reset();
    EXPECT_EQ(send_spec(sockets.first, spec).error().sys_errno, EBADF);
}

TEST_F(SpecTest, AnotherSizeIsRefused) {
    const auto whole = std::as_bytes(std::span(&spec.message, 1));
    for (const std::size_t size : {std::size_t{1}, whole.size() / 2, whole.size() - 1}) {
        send_raw(whole.first(size), kFds);
        expect_refused();
    }
    std::vector<std::byte> longer(whole.begin(), whole.end());
    longer.push_back(std::byte{0});
    send_raw(longer, kFds);
    expect_refused();
}

TEST_F(SpecTest, AWardenThatIsGoneIsAnError) {
    sockets.first.reset();
    expect_refused();
}

TEST_F(SpecTest, MissingDescriptorsAreRefused) {
    for (std::size_t count = 0; count < kFds; ++count) {
        send_raw(count);
        expect_refused();
    }
    send_raw(kFds);
    EXPECT_TRUE(receive_spec(sockets.second));
}

TEST_F(SpecTest, MoreDescriptorsThanAnnouncedAreRefused) {
    send_raw(kFds + 1);
    expect_refused();
    spec.message.cgroup_files = 1;
    send_raw(kFds + 2);
    expect_refused();
}

TEST_F(SpecTest, AMissingWorkspaceIsRefused) {
    spec.message.workspace = WorkspaceKind::Directory;
    send_raw(kFds);
    expect_refused();
}

TEST_F(SpecTest, AMissingSocketToAForkedGuestIsRefused) {
    spec.message.guest = GuestKind::Fork;
    send_raw(kFds);
    expect_refused();
    spec.guest_socket = make_sealed_file("spec-test", "x").value();
    ASSERT_TRUE(send_spec(sockets.first, spec));
    const Spec received = receive_spec(sockets.second).value();
    EXPECT_EQ(inode_of(received.guest_socket), inode_of(spec.guest_socket));
}

TEST_F(SpecTest, MountsComeBehindIt) {
    spec.message.workspace = WorkspaceKind::Mount;
    spec.workspace = make_sealed_file("workspace", "x").value();
    spec.devices = make_sealed_file("devices", "x").value();
    ASSERT_TRUE(send_spec(sockets.first, spec));
    ASSERT_TRUE(send_mounts(sockets.first, spec));
    Spec received = receive_spec(sockets.second).value();
    EXPECT_FALSE(received.workspace.valid());
    ASSERT_TRUE(receive_mounts(sockets.second, received));
    EXPECT_EQ(inode_of(received.workspace), inode_of(spec.workspace));
    EXPECT_EQ(inode_of(received.devices), inode_of(spec.devices));
}

TEST_F(SpecTest, OtherMountsThanExpectedAreRefused) {
    constexpr std::array<std::byte, 2> kWords{};
    spec.message.workspace = WorkspaceKind::Mount;
    for (const std::size_t count : {0U, 1U, 3U}) {
        send_raw(std::span(kWords).first(1), count);
        EXPECT_EQ(receive_mounts(sockets.second, spec).error().sys_errno, EPROTO);
    }
    send_raw(kWords, 2);
    EXPECT_EQ(receive_mounts(sockets.second, spec).error().sys_errno, EPROTO);
    sockets.first.reset();
    EXPECT_FALSE(receive_mounts(sockets.second, spec));
}

TEST_F(SpecTest, MissingCgroupFilesAreRefused) {
    for (const std::uint32_t announced : {1U, 2U, UINT32_MAX}) {
        spec.message.cgroup_files = announced;
        send_raw(kFds);
        expect_refused();
    }
}

TEST_F(SpecTest, APathWithoutEndIsRefused) {
    for (HostPath SpecMessage::* path : {&SpecMessage::root, &SpecMessage::logs}) {
        SpecMessage message = spec.message;
        (message.*path).fill('x');
        send_raw(std::as_bytes(std::span(&message, 1)), kFds);
        expect_refused();
    }
}

TEST_F(SpecTest, AMalformedCommandIsRefused) {
    spec.message.command.argument_count = 77;
    send_raw(kFds);
    EXPECT_FALSE(receive_spec(sockets.second));
    spec.message.command.text_length = UINT32_MAX;
    send_raw(kFds);
    EXPECT_FALSE(receive_spec(sockets.second));
}

TEST(Mode, HasTheNamesOfTheConfiguration) {
    EXPECT_EQ(name_of(Mode::Root), "root");
    EXPECT_EQ(name_of(Mode::Rootless), "rootless");
    EXPECT_EQ(name_of(Mode::Nested), "nested");
}

TEST(HostPath, HoldsWhatFitsWithItsEnd) {
    const std::size_t room = HostPath{}.size();
    EXPECT_STREQ(to_host_path("").value().data(), "");
    EXPECT_EQ(std::string(to_host_path(std::string(room - 1, 'a')).value().data()).size(),
              room - 1);
    EXPECT_FALSE(to_host_path(std::string(room, 'a')));
    EXPECT_FALSE(to_host_path(std::string("a\0b", 3)));
}

}  // namespace
}  // namespace belljar::jar
