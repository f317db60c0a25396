#include "keeper/keeper.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>

#include "cgroup/cgroupfs.h"
#include "isolation/test_init.h"
#include "isolation/warden_messages.h"
#include "jar/seqpacket.h"
#include "keeper/cgroup_tree.h"

namespace belljar::keeper {
namespace {

namespace fs = std::filesystem;

using cgroup::becomes_true;
using cgroup::has_control;
using cgroup::read_words;
using isolation::bit;
using isolation::ConfigureMessage;
using isolation::EndedMessage;
using isolation::KillMessage;
using isolation::Layer;
using isolation::ReadyMessage;
using isolation::StartedMessage;
using isolation::WardenMessage;
using jar::Mode;
using std::chrono::seconds;

constexpr uid_t kSomebody = 1'900'000'006;
constexpr int kFailed = 1;
constexpr isolation::JarId kJar = 1;

const ConfigureMessage kConfiguration{.first_user_id = 1'700'000'000,
                                      .user_id_count = 1000,
                                      .server_pid = 0,
                                      .root_is_image = 0,
                                      .workspace_bytes = 16 << 20,
                                      .root = {},
                                      .logs = {},
                                      .scratch = isolation::to_host_path("/var/tmp").value()};

ConfigureMessage with_users(std::uint32_t first, std::uint32_t count) {
    ConfigureMessage configuration = kConfiguration;
    configuration.first_user_id = first;
    configuration.user_id_count = count;
    return configuration;
}

bool become_somebody() {
    return ::setgroups(0, nullptr) == 0 && ::setresgid(kSomebody, kSomebody, kSomebody) == 0 &&
           ::setresuid(kSomebody, kSomebody, kSomebody) == 0 && ::prctl(PR_SET_DUMPABLE, 1UL) == 0;
}

// Neither of another user nor in this one can any namespace be made.
bool lose_namespaces() {
    const std::string map = "0 " + std::to_string(::geteuid()) + " 1";
    return ::unshare(CLONE_NEWUSER) == 0 && cgroup::write_control("/proc/self/uid_map", map) &&
           cgroup::write_control("/proc/sys/user/max_user_namespaces", "0") &&
           cgroup::write_control("/proc/sys/user/max_pid_namespaces", "0");
}

std::string process_path(pid_t process) { return "/proc/" + std::to_string(process); }

// The child of a process whose program is called so, or 0.
pid_t find_child(pid_t parent, std::string_view name) {
    const std::string list = process_path(parent) + "/task/" + std::to_string(parent) + "/children";
    for (const std::string& word : read_words(list)) {
        const pid_t child = std::atoi(word.c_str());
        if (read_file(process_path(child) + "/comm", kibibytes(1)).value_or("") ==
            std::string(name) + "\n") {
            return child;
        }
    }
    return 0;
}

// The keeper in a process of its own, with the real warden and init; the test plays the server.
class KeeperTest : public testing::Test {
   protected:
    void SetUp() override {
        if (::geteuid() != 0) {
            GTEST_SKIP() << "jars can be made only by root";
        }
        // A warden whose keeper has died becomes ours.
        ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL), 0);
        const std::string init = isolation::test_init_path();
        options.folder = init.substr(0, init.rfind('/') + 1);
        options.log_level = "error";
        said = Fd(::memfd_create("keeper-test", MFD_CLOEXEC));
    }

    // Whatever a test did, nothing is left.
    void TearDown() override {
        if (keeper > 0) {
            stop();
        }
        EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
        EXPECT_TRUE(std::ranges::none_of(trees, has_control));
    }

    // `prepare` happens first in the process of the keeper.
    void start(const std::function<bool()>& prepare = [] { return true; }) {
        jar::SocketPair sockets = jar::make_seqpacket_pair().value();
        Pipe pipe = make_pipe().value();
        keeper = ::fork();
        ASSERT_GE(keeper, 0);
        if (keeper == 0) {
            sockets.first.reset();
            pipe = Pipe{};
            ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL);
            ::dup2(said.get(), STDERR_FILENO);
            const Log log("keeper", LogLevel::Error);
            ::_exit(prepare() ? keep(std::move(sockets.second), options, log) : 100);
        }
        server = std::move(sockets.first);
        guests = std::move(pipe);
    }

    void configure(ConfigureMessage configuration = kConfiguration) {
        configuration.server_pid = static_cast<std::uint32_t>(::getpid());
        ASSERT_TRUE(isolation::send_message(server, configuration));
    }

    // Waits for the answer of the warden and notes which cgroup trees the keeper has made.
    void get_ready(const ConfigureMessage& configuration = kConfiguration) {
        start();
        configure(configuration);
        const WardenMessage message = next();
        ASSERT_TRUE(std::holds_alternative<ReadyMessage>(message)) << log_text();
        ready = std::get<ReadyMessage>(message);
        note_trees();
    }

    // It holds their locks.
    void note_trees() {
        for (const auto& entry : fs::directory_iterator(process_path(keeper) + "/fd")) {
            std::error_code gone;
            const std::string target = fs::read_symlink(entry.path(), gone);
            if (target.starts_with("/sys/fs/cgroup/")) {
                trees.push_back(target);
            }
        }
    }

    WardenMessage next() {
        pollfd entry{.fd = server.get(), .events = POLLIN, .revents = 0};
        const bool told = ::poll(&entry, 1, 30'000) == 1;
        const Result<jar::Packet> packet =
            told ? jar::receive_packet(server)
                 : Result<jar::Packet>(fail(system_error("the warden says nothing", ETIMEDOUT)));
        const Result<WardenMessage> message = packet
                                                  ? isolation::decode_warden_message(packet->data)
                                                  : Result<WardenMessage>(fail(packet.error()));
        EXPECT_TRUE(message) << log_text();
        return message.value_or(WardenMessage{EndedMessage{}});
    }

    // Its descriptors are the write end of a pipe.
    void launch(const std::string& script) {
        const auto message = isolation::make_launch(
            kJar, {.command = {.arguments = {"/bin/sh", "-c", script}, .environment = {}}});
        const std::vector<int> numbers(isolation::kGuestFdCount, guests.write_end.get());
        ASSERT_TRUE(isolation::send_message(server, *message, numbers));
        guests.write_end.reset();
        const WardenMessage answer = next();
        ASSERT_TRUE(std::holds_alternative<StartedMessage>(answer)) << answer.index();
    }

    EndedMessage expect_ended() {
        const WardenMessage message = next();
        EXPECT_TRUE(std::holds_alternative<EndedMessage>(message)) << message.index();
        const auto* ended = std::get_if<EndedMessage>(&message);
        return ended != nullptr ? *ended : EndedMessage{};
    }

    // Everything that was started in the jar has ended.
    [[nodiscard]] bool guests_end() const {
        pollfd entry{.fd = guests.read_end.get(), .events = POLLIN, .revents = 0};
        return ::poll(&entry, 1, 20'000) == 1 && (entry.revents & POLLIN) == 0;
    }

    int wait_for_keeper() {
        int status = -1;
        EXPECT_EQ(::waitpid(keeper, &status, 0), keeper);
        keeper = -1;
        EXPECT_TRUE(WIFEXITED(status)) << status;
        return WEXITSTATUS(status);
    }

    // Closes the socket, as a server that ends does; the keeper's exit code.
    int stop() {
        server.reset();
        return wait_for_keeper();
    }

    // It ends by itself, and has never promised anything.
    void expect_no_start() {
        const Result<jar::Packet> packet = jar::receive_packet(server);
        EXPECT_TRUE(packet && packet->data.empty()) << "it should have said nothing";
        EXPECT_EQ(stop(), kFailed);
    }

    [[nodiscard]] std::string log_text() const {
        std::string text(64 * 1024, '\0');
        const ssize_t length = ::pread(said.get(), text.data(), text.size(), 0);
        text.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
        return text;
    }

    [[nodiscard]] bool holds(Layer layer) const { return (ready.layers & bit(layer)) != 0; }

    Options options;
    pid_t keeper = -1;
    Fd server;
    Fd said;  // what keeper and warden log
    Pipe guests;
    ReadyMessage ready{};
    std::vector<std::string> trees;
};

TEST_F(KeeperTest, SaysModeAndLayersAndEndsWithTheServer) {
    get_ready();
    EXPECT_EQ(ready.mode, Mode::Root);
    for (const Layer layer : {Layer::Namespaces, Layer::UniqueUser, Layer::NoCapabilities,
                              Layer::ReadOnlyRoot, Layer::Seccomp, Layer::DiskQuota}) {
        EXPECT_TRUE(holds(layer)) << bit(layer);
    }
    EXPECT_EQ(trees.empty(), cgroup::read_layout().empty());
    EXPECT_EQ(stop(), 0);
    EXPECT_EQ(log_text(), "");
}

TEST_F(KeeperTest, RunsAJarInEveryMode) {
    for (const Mode mode : {Mode::Root, Mode::Nested}) {
        options.mode = jar::name_of(mode);
        get_ready();
        EXPECT_EQ(ready.mode, mode);
        EXPECT_EQ(holds(Layer::Namespaces), mode != Mode::Nested);
        EXPECT_EQ(holds(Layer::ReadOnlyRoot), mode != Mode::Nested);
        launch("setsid sleep 1000 & exit 4");
        EXPECT_EQ(WEXITSTATUS(expect_ended().wait_status), 4) << options.mode;
        EXPECT_TRUE(guests_end());
        EXPECT_EQ(stop(), 0);
    }
}

TEST_F(KeeperTest, WorkspacesAreAsLargeAsConfigured) {
    get_ready();
    launch("head -c 64m /dev/zero > /workspace/file 2>/dev/null; exit 4");
    const EndedMessage ended = expect_ended();
    EXPECT_EQ(WEXITSTATUS(ended.wait_status), 4);
    EXPECT_EQ(ended.disk_full, 1U);
    EXPECT_LT(ended.disk_used_bytes, 16U << 20U);
    EXPECT_GT(ended.disk_used_bytes, 8U << 20U);
    EXPECT_EQ(stop(), 0);
}

TEST_F(KeeperTest, AServerThatGoesAwayTakesItsJarsWithIt) {
    get_ready();
    launch("setsid sleep 1000 & exec sleep 1000");
    EXPECT_EQ(stop(), 0);
    EXPECT_TRUE(guests_end());
}

TEST_F(KeeperTest, ItRemovesWhatAKilledWardenLeaves) {
    for (const char* mode : {"root", "nested"}) {
        options.mode = mode;
        get_ready();
        launch("setsid sleep 1000 & exec sleep 1000");
        const pid_t warden = find_child(keeper, "belljar-warden");
        ASSERT_GT(warden, 0);
        ASSERT_EQ(::kill(warden, SIGKILL), 0);
        EXPECT_EQ(wait_for_keeper(), kFailed);
        EXPECT_TRUE(guests_end()) << mode;
        EXPECT_TRUE(std::ranges::none_of(trees, has_control)) << mode;
    }
}

TEST_F(KeeperTest, TheWardenRemovesWhatAKilledKeeperLeaves) {
    for (const char* mode : {"root", "nested"}) {
        options.mode = mode;
        get_ready();
        launch("setsid sleep 1000 & exec sleep 1000");
        const pid_t warden = find_child(keeper, "belljar-warden");
        ASSERT_GT(warden, 0);
        ASSERT_EQ(::kill(keeper, SIGKILL), 0);
        ASSERT_EQ(::waitpid(std::exchange(keeper, -1), nullptr, 0) > 0, true);
        int status = -1;
        ASSERT_EQ(::waitpid(warden, &status, 0), warden);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kFailed) << status;
        EXPECT_TRUE(guests_end()) << mode;
        EXPECT_TRUE(std::ranges::none_of(trees, has_control)) << mode;
    }
}

// Before it has told the warden anything.
TEST_F(KeeperTest, AKeeperThatIsKilledEarlyLeavesNothingEither) {
    for (int round = 0; round < 10; ++round) {
        start();
        configure();
        pid_t warden = 0;
        EXPECT_TRUE(becomes_true(
            [&] { return (warden = find_child(keeper, "belljar-warden")) != 0; }, seconds(20)));
        note_trees();
        ASSERT_EQ(::kill(keeper, SIGKILL), 0);
        ASSERT_EQ(::waitpid(std::exchange(keeper, -1), nullptr, 0) > 0, true);
        EXPECT_TRUE(becomes_true([] { return ::waitpid(-1, nullptr, WNOHANG) < 0; }, seconds(20)));
        EXPECT_TRUE(std::ranges::none_of(trees, has_control));
    }
}

TEST_F(KeeperTest, AModeThatWasAskedForIsNotReplaced) {
    options.mode = "root";
    start(become_somebody);
    configure();
    expect_no_start();
    EXPECT_NE(log_text().find("launch mode"), std::string::npos) << log_text();
    options.mode = "rootless";
    start(lose_namespaces);
    configure();
    expect_no_start();
    options.mode = "docker";
    start();
    configure();
    expect_no_start();
}

// In a mount namespace that ends with the keeper.
bool break_mkfs() {
    return ::unshare(CLONE_NEWNS) == 0 &&
           ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("/bin/false", "/usr/sbin/mkfs.ext4", nullptr, MS_BIND, nullptr) == 0;
}

TEST_F(KeeperTest, WhatFailsAfterTheWardenIsThereEndsIt) {
    start(break_mkfs);
    configure();
    expect_no_start();
    EXPECT_NE(log_text().find("mkfs.ext4 failed"), std::string::npos) << log_text();
}

TEST_F(KeeperTest, WithoutAWardenItDoesNotStart) {
    options.folder = testing::TempDir() + "no-such-folder/";
    start();
    configure();
    expect_no_start();
}

TEST_F(KeeperTest, DoesNotStartWithUserIdsOfTheHost) {
    start();
    configure(with_users(0, 1000));
    expect_no_start();
    start();
    configure(with_users(65535, 1));
    expect_no_start();
}

TEST_F(KeeperTest, DoesNotStartWithoutUserIds) {
    start();
    configure(with_users(1'700'000'000, 0));
    expect_no_start();
}

TEST_F(KeeperTest, DoesNotStartWithUserIdsThatWrapAround) {
    start();
    configure(with_users(UINT32_MAX - 10, 100));
    expect_no_start();
    start();
    configure(with_users(UINT32_MAX, 1));
    expect_no_start();
}

TEST_F(KeeperTest, DoesNotStartWithPathsThatHaveNoEnd) {
    for (jar::HostPath ConfigureMessage::* path :
         {&ConfigureMessage::root, &ConfigureMessage::logs, &ConfigureMessage::scratch}) {
        ConfigureMessage configuration = kConfiguration;
        (configuration.*path).fill('/');
        start();
        configure(configuration);
        expect_no_start();
    }
}

TEST_F(KeeperTest, DoesNotStartWithAnImageThatCannotBeHad) {
    ConfigureMessage configuration = kConfiguration;
    configuration.root_is_image = 1;
    configuration.root = isolation::to_host_path("/no/such/image").value();
    for (const char* mode : {"root", "rootless", "nested"}) {
        options.mode = mode;
        start();
        configure(configuration);
        expect_no_start();
    }
    configuration.root = isolation::to_host_path("/usr/bin/env").value();  // is none
    options.mode = "root";
    start();
    configure(configuration);
    expect_no_start();
}

TEST_F(KeeperTest, DoesNotStartWithAnotherMessageFirst) {
    start();
    ASSERT_TRUE(isolation::send_message(
        server, KillMessage{.jar = kJar, .reason = isolation::KillReason::None}));
    expect_no_start();
    start();
    const std::byte nonsense{0x7F};
    ASSERT_TRUE(jar::send_packet(server, std::span(&nonsense, 1), {}));
    expect_no_start();
}

TEST_F(KeeperTest, DoesNotStartForAServerThatIsGone) {
    start();
    EXPECT_EQ(stop(), kFailed);
}

TEST_F(KeeperTest, CleanUpRemovesTheTreesOfTheDead) {
    jar::SocketPair sockets = jar::make_seqpacket_pair().value();
    const pid_t dead = ::fork();
    if (dead == 0) {
        const CgroupTree tree = CgroupTree::create({::getpid()}, cgroup::read_layout());
        for (const std::string& path : tree.paths()) {
            [[maybe_unused]] const Result<void> sent =
                jar::send_packet(sockets.second, std::as_bytes(std::span(path)), {});
        }
        ::_exit(0);
    }
    sockets.second.reset();
    ASSERT_EQ(::waitpid(dead, nullptr, 0), dead);
    for (Result<jar::Packet> packet = jar::receive_packet(sockets.first);
         packet && !packet->data.empty(); packet = jar::receive_packet(sockets.first)) {
        trees.push_back(packet->data);
    }
    EXPECT_EQ(trees.empty(), cgroup::read_layout().empty());
    EXPECT_EQ(clean_up(Log("keeper", LogLevel::Error)), kFailed)
        << "a keeper that died is no success";
}

}  // namespace
}  // namespace belljar::keeper
