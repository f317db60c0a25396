#include "jar/launcher.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/fd.h"
#include "jar/launch_request.h"

namespace belljar::jar {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Ended {
    int status = 0;
    std::string output{};
    std::string errors{};
    std::string report{};
};

class LauncherTest : public testing::Test {
   protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "launcher-test-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        place = name;
        fs::create_directories(place / kWorkspace);
        fs::create_directories(place / "tmp");
    }
    void TearDown() override { fs::remove_all(place); }

    // A child that is started as a guest is after its confinement.
    Ended launch(const std::string& request, WorkspaceKind kind = WorkspaceKind::Memory) {
        Pipe input = make_pipe().value();
        std::array<Pipe, 3> outputs{make_pipe().value(), make_pipe().value(), make_pipe().value()};
        for (const Pipe& pipe : outputs) {
            // They are read one after the other.
            EXPECT_GE(::fcntl(pipe.write_end.get(), F_SETPIPE_SZ, 1 << 20), 1 << 20);
        }
        EXPECT_TRUE(write_all(input.write_end, request));
        input.write_end.reset();
        const pid_t child = ::fork();
        if (child == 0) {
            become_guest(input, outputs, kind);
        }
        Ended ended;
        for (Pipe& pipe : outputs) {
            pipe.write_end.reset();
        }
        ended.output = read_all(outputs[0].read_end, mebibytes(1)).value();
        ended.errors = read_all(outputs[1].read_end, mebibytes(1)).value();
        ended.report = read_all(outputs[2].read_end, mebibytes(1)).value();
        EXPECT_EQ(::waitpid(child, &ended.status, 0), child);
        return ended;
    }

    Ended launch(const LaunchRequest& request, WorkspaceKind kind = WorkspaceKind::Memory) {
        return launch(encode(request), kind);
    }

    [[noreturn]] void become_guest(const Pipe& input, const std::array<Pipe, 3>& outputs,
                                   WorkspaceKind kind) {
        constexpr int kAway = 100;
        const std::array<int, kGuestFdCount> wanted{
            ::open("/dev/null", O_RDONLY), outputs[0].write_end.get(), outputs[1].write_end.get(),
            ::open("/dev/null", O_RDONLY), input.read_end.get(),       outputs[2].write_end.get()};
        for (std::size_t index = 0; index < wanted.size(); ++index) {
            ::fcntl(wanted[index], F_DUPFD, kAway + static_cast<int>(index));
        }
        for (std::size_t index = 0; index < wanted.size(); ++index) {
            ::dup2(kAway + static_cast<int>(index), static_cast<int>(index));
        }
        if (::chdir((place / kWorkspace).c_str()) != 0) {
            ::_exit(99);
        }
        become_launcher(kind);
    }

    static constexpr const char* kWorkspace = "workspace";
    fs::path place;
};

TEST_F(LauncherTest, TheProgramGetsItsArgumentsAndItsEnvironment) {
    const Ended ended =
        launch({.run = {"/bin/sh", "main.sh"},
                .arguments = {"a b", ""},
                .environment = {"NAME=value"},
                .files = {{.path = "main.sh", .content = "echo \"$#\" \"$1\" \"$NAME\"; exit 7"}}});
    EXPECT_EQ(ended.output, "2 a b value\n");
    EXPECT_EQ(ended.report, "\n");
    EXPECT_EQ(WEXITSTATUS(ended.status), 7);
}

TEST_F(LauncherTest, TheProgramHasNothingButItsStreams) {
    const Ended ended = launch({.run = {"/bin/sh", "-c", "ls /proc/self/fd"}});
    EXPECT_EQ(ended.output, "0\n1\n2\n3\n") << "the last is that of ls itself";
}

TEST_F(LauncherTest, FilesAreWrittenBelowTheWorkspace) {
    const std::string bytes("\0\xff\n", 3);
    const Ended ended = launch({.run = {"/bin/true"},
                                .files = {{.path = "a/b/c", .content = bytes},
                                          {.path = "main", .content = "first"},
                                          {.path = "main", .content = "2"}}});
    EXPECT_EQ(ended.status, 0);
    EXPECT_EQ(read_file(place / kWorkspace / "a/b/c", mebibytes(1)).value(), bytes);
    EXPECT_EQ(read_file(place / kWorkspace / "main", mebibytes(1)).value(), "2");
}

TEST_F(LauncherTest, NoFileIsWrittenElsewhere) {
    fs::create_directory_symlink(place, place / kWorkspace / "link");
    fs::create_symlink(place / "target", place / kWorkspace / "file");
    for (const std::string path :
         {"../out", "/tmp/out", "a/../../out", "link/out", "file", "", ".", "a//b", "a/"}) {
        const Ended ended =
            launch({.run = {"/bin/echo"}, .files = {{.path = path, .content = "x"}}});
        EXPECT_EQ(WEXITSTATUS(ended.status), 1) << path;
        EXPECT_NE(ended.report.find("StartError"), std::string::npos) << path;
        EXPECT_EQ(ended.output, "") << path;
    }
    EXPECT_FALSE(fs::exists(place / "out"));
    EXPECT_FALSE(fs::exists(place / "target"));
}

TEST_F(LauncherTest, ACompilerThatWarnsIsNotHeard) {
    const Ended ended = launch({.compile = {"/bin/sh", "-c", "echo warning >&2; echo ok > made"},
                                .compile_time = seconds(10),
                                .run = {"/bin/cat", "made"}});
    EXPECT_EQ(ended.output, "ok\n");
    EXPECT_EQ(ended.errors, "");
    EXPECT_EQ(ended.report, "\n");
}

TEST_F(LauncherTest, ACompilerThatFailsIsTheReport) {
    const Ended ended =
        launch({.compile = {"/bin/sh", "-c", "echo In file; echo 'x.c:1: error: \"\\' >&2; exit 3"},
                .compile_time = seconds(10),
                .run = {"/bin/echo", "ran"}});
    EXPECT_EQ(WEXITSTATUS(ended.status), 1);
    EXPECT_EQ(ended.output, "");
    EXPECT_EQ(ended.errors, "In file\nx.c:1: error: \"\\\n");
    EXPECT_EQ(ended.report,
              "\n{\"error\":{\"type\":\"CompileError\",\"message\":\"the compiler ended with exit "
              "code 3: x.c:1: error: \\\"\\\\\",\"traceback\":\"In file\\u000ax.c:1: error: "
              "\\\"\\\\\\u000a\"}}");
}

TEST_F(LauncherTest, ACompilerHasItsTime) {
    const TimePoint begun = Clock::now();
    const Ended ended = launch({.compile = {"/bin/sh", "-c", "echo begun; sleep 60; true"},
                                .compile_time = milliseconds(300),
                                .run = {"/bin/echo", "ran"}});
    EXPECT_LT(Clock::now() - begun, seconds(30));
    EXPECT_EQ(WEXITSTATUS(ended.status), 1);
    EXPECT_NE(ended.report.find("the compiler did not end within 0.3 seconds"), std::string::npos);
    EXPECT_NE(ended.report.find("begun"), std::string::npos);
}

TEST_F(LauncherTest, ACompilerMayWriteMuch) {
    const Ended ended =
        launch({.compile = {"/bin/sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x; exit 1"},
                .compile_time = seconds(20),
                .run = {"/bin/echo"}});
    EXPECT_EQ(ended.errors.size(), 64U * 1024);
    EXPECT_LT(ended.report.size(), 70U * 1024);
}

TEST_F(LauncherTest, ACompilerHasItsMemory) {
    const Ended ended = launch({.compile = {"/bin/sh", "-c", "ulimit -d; exit 1"},
                                .compile_time = seconds(10),
                                .compile_memory = mebibytes(64),
                                .run = {"/bin/sh", "-c", "ulimit -d"}});
    EXPECT_EQ(ended.errors, "65536\n");
}

TEST_F(LauncherTest, WhatACompilerLeavesBehindIsNotWaitedFor) {
    const Ended ended = launch({.compile = {"/bin/sh", "-c", "sleep 2 & exit 0"},
                                .compile_time = seconds(60),
                                .run = {"/bin/echo", "ran"}});
    EXPECT_EQ(ended.output, "ran\n");
}

TEST_F(LauncherTest, AProgramThatIsNotThereIsNamed) {
    for (const std::string name : {"/no/such/program", "/etc/passwd"}) {
        const Ended ended = launch({.run = {name}});
        EXPECT_EQ(WEXITSTATUS(ended.status), 1);
        EXPECT_NE(ended.report.find(name + " could not be executed"), std::string::npos);
    }
    const Ended compiled =
        launch({.compile = {"/no/compiler"}, .compile_time = seconds(5), .run = {"/bin/true"}});
    EXPECT_NE(compiled.report.find("/no/compiler could not be executed"), std::string::npos);
}

TEST_F(LauncherTest, ARequestThatMakesNoSenseIsRefused) {
    for (const std::string request : {"", "{}", "BJL1"}) {
        const Ended ended = launch(request);
        EXPECT_EQ(WEXITSTATUS(ended.status), 1);
        EXPECT_NE(ended.report.find("a malformed request"), std::string::npos);
    }
}

// A jar without a file tree of its own has its directories under other names.
TEST_F(LauncherTest, PathsAreThoseOfTheJar) {
    const LaunchRequest request{
        .run = {"/bin/sh", "-c", "echo \"$0\" \"$HOME\" \"$CACHE\" \"$OTHER\" \"$1\"",
                "/tmp/program"},
        .arguments = {"/tmp/mine"},
        .environment = {"HOME=/workspace", "CACHE=/tmp/a/b", "OTHER=/tmpfile"}};
    const std::string here = fs::canonical(place).string();
    EXPECT_EQ(
        launch(request, WorkspaceKind::Directory).output,
        here + "/tmp/program " + here + "/workspace " + here + "/tmp/a/b /tmpfile /tmp/mine\n");
    EXPECT_EQ(launch(request).output, "/tmp/program /workspace /tmp/a/b /tmpfile /tmp/mine\n");
}

}  // namespace
}  // namespace belljar::jar
