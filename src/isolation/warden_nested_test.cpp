#include <fmt/format.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "base/id.h"
#include "isolation/test_warden.h"
#include "jar/scratch.h"

namespace belljar::isolation {
namespace {

using cgroup::becomes_true;
using cgroup::read_number;

// Without namespaces, as in a container that allows none.
class NestedWardenTest : public WardenTest {
   protected:
    void SetUp() override {
        WardenTest::SetUp();
        if (IsSkipped()) {
            return;
        }
        scratch = testing::TempDir() + "warden-test-" + random_hex(4);
        ASSERT_TRUE(std::filesystem::create_directory(scratch));
        ASSERT_EQ(::chmod(scratch.c_str(), 0755), 0);
        host.mode = jar::Mode::Nested;
        host.scratch = to_host_path(scratch).value();
    }

    void TearDown() override {
        WardenTest::TearDown();
        if (!scratch.empty()) {
            EXPECT_TRUE(std::filesystem::is_empty(scratch));
            std::filesystem::remove_all(scratch);
        }
    }

    // Below the warden's own directory.
    [[nodiscard]] std::size_t directories_of_jars() const {
        const std::filesystem::directory_iterator own(scratch);
        const std::filesystem::directory_iterator jars(own->path());
        return static_cast<std::size_t>(std::distance(begin(jars), end(jars)));
    }

    std::string scratch;
};

TEST_F(NestedWardenTest, SaysWhatDoesNotHold) {
    get_ready();
    EXPECT_EQ(ready.mode, jar::Mode::Nested);
    for (const Layer layer : {Layer::Namespaces, Layer::ReadOnlyRoot, Layer::DiskQuota}) {
        EXPECT_FALSE(holds(layer)) << bit(layer);
    }
    EXPECT_TRUE(holds(Layer::Seccomp));
    EXPECT_EQ(stop(), 0);
}

// Nobody is born in a cgroup there, and each has to join all of them.
TEST_F(NestedWardenTest, AJarIsInAllOfItsCgroups) {
    get_ready();
    send_launch(launch_of(1, {"/bin/sleep", "1000"}));
    expect_started(1);
    const auto init = read_number(fmt::format("/proc/{0}/task/{0}/children", warden));
    const std::string joined =
        read_file(fmt::format("/proc/{}/cgroup", init), kibibytes(64)).value();
    for (const std::string& path : cgroups->paths()) {
        const std::filesystem::path own = std::filesystem::path(path) / "jar-1";
        const std::string name = own.parent_path().filename().string() + "/jar-1\n";
        EXPECT_EQ(joined.find(name) != std::string::npos, std::filesystem::exists(own)) << joined;
    }
    EXPECT_EQ(stop(), 0);
}

TEST_F(NestedWardenTest, NothingOutlivesAJar) {
    get_ready();
    for (JarId jar = 1; jar <= 3; ++jar) {
        send_launch(launch_of(jar, {"/bin/sh", "-c",
                                    "mkdir -p a/b/c; echo x > a/b/c/d; chmod 0 a/b/c a/b;"
                                    "setsid sleep 1000 & exit 4"}));
        expect_started(jar);
        const EndedMessage ended = expect_ended(jar);
        EXPECT_EQ(WEXITSTATUS(ended.wait_status), 4);
    }
    EXPECT_TRUE(
        becomes_true([this] { return directories_of_jars() == 0; }, std::chrono::seconds(20)));
    EXPECT_EQ(stop(), 0);
}

// More than are removed at once.
TEST_F(NestedWardenTest, FilesThatInitDidNotRemoveAreRemoved) {
    get_ready();
    send_launch(launch_of(1, {"/usr/bin/python3", "-c",
                              "import time\n"
                              "for number in range(5000): open(f'file-{number}', 'w').close()\n"
                              "print('there', flush=True)\n"
                              "time.sleep(1000)"}));
    expect_started(1);
    const auto files = [this] {
        const std::filesystem::directory_iterator own(scratch);
        const std::filesystem::directory_iterator made(own->path() / "jar-1" / jar::kWorkspaceName);
        return std::distance(begin(made), end(made)) == 5000;
    };
    ASSERT_TRUE(becomes_true(files, std::chrono::seconds(20)));
    const auto init =
        static_cast<pid_t>(read_number(fmt::format("/proc/{0}/task/{0}/children", warden)));
    ASSERT_EQ(::kill(init, SIGKILL), 0);
    expect_ended(1);
    EXPECT_TRUE(
        becomes_true([this] { return directories_of_jars() == 0; }, std::chrono::seconds(20)));
    EXPECT_EQ(stop(), 0);
}

TEST_F(NestedWardenTest, AServerThatGoesAwayTakesItsJarsWithIt) {
    get_ready();
    send_launch(launch_of(1, {"/bin/sh", "-c", "setsid sleep 1000 & exec sleep 1000"}));
    expect_started(1);
    send_launch(launch_of(2, {"/bin/sleep", "1000"}));
    EXPECT_EQ(stop(), 0);
}

TEST_F(NestedWardenTest, AWardenThatHasToStopLeavesNothing) {
    get_ready();
    send_launch(launch_of(1, {"/bin/sh", "-c", "while :; do mkdir -p a/b/c; > a/b/d; done"}));
    expect_started(1);
    ASSERT_TRUE(send_message(server, ConfigureMessage{}));
    EXPECT_EQ(stop(), kStopped);
}

std::size_t count_processes(uid_t user) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        count += read_number(entry.path() / "status", "Uid:") == user ? 1 : 0;
    }
    return count;
}

TEST_F(NestedWardenTest, WhatForksOnAndOnEndsWithItsJar) {
    host.tree_count = 0;
    host.user_count = 1;
    host.first_user += 100'000 + static_cast<std::uint32_t>(::getpid());
    get_ready();
    const std::string bomb = "import os\nwhile True:\n try: os.fork()\n except OSError: pass";
    LaunchMessage message = launch_of(1, {"/usr/bin/python3", "-c", bomb});
    message.timeout_nanoseconds = 500'000'000;
    send_launch(message);
    expect_started(1);
    EXPECT_EQ(expect_ended(1).kill_reason, KillReason::Deadline);
    EXPECT_EQ(stop(), 0);
    EXPECT_EQ(count_processes(host.first_user), 0U);
}

TEST_F(NestedWardenTest, AJarThatCannotBeMadeLeavesNoDirectory) {
    host.init = to_host_path("/dev/null").value();  // can be opened but not executed
    get_ready();
    send_launch(launch_of(1, {"/bin/true"}));
    const WardenMessage message = next();
    EXPECT_FALSE(std::holds_alternative<StartedMessage>(message)) << message.index();
    EXPECT_TRUE(
        becomes_true([this] { return directories_of_jars() == 0; }, std::chrono::seconds(20)));
    EXPECT_EQ(stop(), 0);
}

}  // namespace
}  // namespace belljar::isolation
