#include "jar/landlock.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>

#include "base/fd.h"
#include "jar/scratch.h"

namespace belljar::jar {
namespace {

namespace fs = std::filesystem;

constexpr int kNotConfined = 200;

// The reason why it cannot be opened, or 0.
int try_open(const std::string& path, int flags) {
    const Fd file(::open(path.c_str(), flags | O_CLOEXEC, 0600));
    return file.valid() ? 0 : errno;
}

int errno_of(int result) { return result == 0 ? 0 : errno; }

// A Spec without namespaces, and a function that runs under it.
class LandlockTest : public testing::Test {
   protected:
    void SetUp() override {
        spec.message.mode = Mode::Nested;
        spec.message.landlock_abi = find_landlock_abi();
        if (spec.message.landlock_abi == 0) {
            GTEST_SKIP() << "this kernel has no Landlock";
        }
        std::string name = testing::TempDir() + "landlock-test-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        place = name;
        for (const char* folder : {kWorkspaceName, kTmpName}) {
            fs::create_directory(place / folder);
        }
        spec.workspace = Fd(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }

    void TearDown() override {
        if (!place.empty()) {
            fs::remove_all(place);
        }
    }

    // What `act` returns in a process of its own that is confined.
    [[nodiscard]] int confined(const std::function<int()>& act) const {
        const pid_t child = ::fork();
        if (child == 0) {
            const bool entered = ::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0 &&
                                 enter_landlock(spec).has_value();
            ::_exit(entered ? act() : kNotConfined);
        }
        int status = -1;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    [[nodiscard]] std::string inside(const char* name) const {
        return place / kWorkspaceName / name;
    }
    [[nodiscard]] std::string beside(const char* name) const { return place / name; }
    [[nodiscard]] bool has_version(std::uint32_t abi) const {
        return spec.message.landlock_abi >= abi;
    }

    fs::path place;
    Spec spec;
};

TEST_F(LandlockTest, ReadsAndExecutesTheSystem) {
    EXPECT_EQ(confined([] { return try_open("/usr/bin/env", O_RDONLY); }), 0);
    EXPECT_EQ(confined([] { return try_open("/usr/lib", O_RDONLY | O_DIRECTORY); }), 0);
    EXPECT_EQ(confined([] {
                  ::execl("/usr/bin/env", "env", "true", nullptr);
                  return errno;
              }),
              0);
    EXPECT_EQ(confined([] { return try_open("/dev/urandom", O_RDONLY); }), 0);
    EXPECT_EQ(confined([] { return try_open("/dev/null", O_RDWR); }), 0);
}

TEST_F(LandlockTest, ReadsNothingElse) {
    for (const char* path : {"/etc/passwd", "/proc/self/status", "/proc/1/status", "/"}) {
        EXPECT_EQ(confined([path] { return try_open(path, O_RDONLY); }), EACCES) << path;
    }
    for (const char* path : {"/", "/etc", "/proc", "/home", "/tmp", "/var"}) {
        EXPECT_EQ(confined([path] { return try_open(path, O_RDONLY | O_DIRECTORY); }), EACCES)
            << path;
    }
}

TEST_F(LandlockTest, WritesOnlyWhereItMay) {
    EXPECT_EQ(confined([this] { return try_open(inside("file"), O_RDWR | O_CREAT); }), 0);
    EXPECT_EQ(confined([this] { return try_open(inside("file"), O_RDWR | O_TRUNC); }), 0);
    EXPECT_EQ(confined([this] { return errno_of(::mkdir(inside("below").c_str(), 0700)); }), 0);
    EXPECT_EQ(confined([this] { return try_open(inside("below/file"), O_RDWR | O_CREAT); }), 0);
    EXPECT_EQ(confined([this] { return errno_of(::unlink(inside("file").c_str())); }), 0);
    EXPECT_EQ(confined([this] { return try_open(beside("file"), O_RDWR | O_CREAT); }), EACCES);
    EXPECT_EQ(confined([this] { return errno_of(::mkdir(beside("below").c_str(), 0700)); }),
              EACCES);
    EXPECT_EQ(confined([] { return try_open("/usr/landlock-test", O_RDWR | O_CREAT); }), EACCES);
    EXPECT_EQ(confined([] { return try_open("/dev/shm/landlock-test", O_RDWR | O_CREAT); }),
              EACCES);
    EXPECT_EQ(confined([] { return try_open("/dev/urandom", O_WRONLY); }), EACCES);
}

TEST_F(LandlockTest, NothingIsMovedOut) {
    ASSERT_EQ(try_open(inside("file"), O_RDWR | O_CREAT), 0);
    ASSERT_EQ(try_open(beside("other"), O_RDWR | O_CREAT), 0);
    const auto refused = [](int reason) { return reason == EACCES || reason == EXDEV; };
    EXPECT_PRED1(refused, confined([this] {
                     return errno_of(::rename(inside("file").c_str(), beside("file").c_str()));
                 }));
    EXPECT_PRED1(refused, confined([this] {
                     return errno_of(::link(beside("other").c_str(), inside("other").c_str()));
                 }));
    EXPECT_EQ(confined([this] { return errno_of(::unlink(beside("other").c_str())); }), EACCES);
}

TEST_F(LandlockTest, MakesNoDevice) {
    for (const mode_t kind : {mode_t{S_IFCHR}, mode_t{S_IFBLK}}) {
        EXPECT_EQ(confined([this, kind] {
                      return errno_of(::mknod(inside("device").c_str(), kind | 0600, 0x103));
                  }),
                  EACCES);
    }
    EXPECT_EQ(confined([this] { return errno_of(::mkfifo(inside("fifo").c_str(), 0600)); }), 0);
}

// What a link points to is judged, not the link.
TEST_F(LandlockTest, ALinkLeadsNowhere) {
    fs::create_symlink("/etc/passwd", inside("link"));
    EXPECT_EQ(confined([this] { return try_open(inside("link"), O_RDONLY); }), EACCES);
}

int try_connect(const sockaddr_in& address) {
    const Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return errno_of(
        ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
}

int try_bind() {
    const Fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return errno_of(::bind(server.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(any)));
}

TEST_F(LandlockTest, WithoutANetworkOfItsOwnThereIsNoTcp) {
    if (!has_version(4)) {
        GTEST_SKIP() << "Landlock knows TCP since version 4";
    }
    const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    ASSERT_EQ(try_connect(address), 0) << "it can be reached from here";
    EXPECT_EQ(confined([&address] { return try_connect(address); }), EACCES);
    EXPECT_EQ(confined(try_bind), EACCES);
}

TEST_F(LandlockTest, SignalsReachOnlyWhatIsConfinedToo) {
    if (!has_version(6)) {
        GTEST_SKIP() << "Landlock knows signals since version 6";
    }
    EXPECT_EQ(confined([] { return errno_of(::kill(::getppid(), 0)); }), EPERM);
    EXPECT_EQ(confined([] {
                  const pid_t child = ::fork();
                  if (child == 0) {
                      ::pause();
                      ::_exit(0);
                  }
                  const int reason = errno_of(::kill(child, SIGKILL));
                  return ::waitpid(child, nullptr, 0) == child ? reason : kNotConfined;
              }),
              0);
}

TEST_F(LandlockTest, AbstractSocketsOfOthersCannotBeReached) {
    if (!has_version(6)) {
        GTEST_SKIP() << "Landlock knows abstract sockets since version 6";
    }
    const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    // The kernel chooses an abstract name for an address without one.
    sockaddr_storage address{};
    address.ss_family = AF_UNIX;
    auto* name = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof(address);
    ASSERT_EQ(::bind(listener.get(), name, sizeof(sa_family_t)), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    ASSERT_EQ(::getsockname(listener.get(), name, &length), 0);
    const auto try_name = [&] {
        const Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        return errno_of(::connect(client.get(), name, length));
    };
    EXPECT_EQ(try_name(), 0);
    EXPECT_EQ(confined(try_name), EPERM);
}

// Fences that an older kernel does not know must not make the others fail.
TEST_F(LandlockTest, EveryVersionUpToTheKernelsHoldsForFiles) {
    const std::uint32_t newest = spec.message.landlock_abi;
    for (std::uint32_t abi = 1; abi <= newest; ++abi) {
        spec.message.landlock_abi = abi;
        EXPECT_EQ(confined([] { return try_open("/usr/bin/env", O_RDONLY); }), 0) << abi;
        EXPECT_EQ(confined([] { return try_open("/etc/passwd", O_RDONLY); }), EACCES) << abi;
        EXPECT_EQ(confined([this] { return try_open(inside("file"), O_RDWR | O_CREAT); }), 0)
            << abi;
    }
}

TEST_F(LandlockTest, WithoutTheDirectoryItIsAnError) {
    spec.workspace.reset();
    EXPECT_EQ(confined([] { return 0; }), kNotConfined);
}

TEST(LandlockVersions, AreNoFenceWhereTheyLeaveTheServerInReach) {
    for (const Mode mode : {Mode::Root, Mode::Rootless}) {
        EXPECT_FALSE(is_fence(0, mode, false));
        EXPECT_TRUE(is_fence(1, mode, false));
    }
    EXPECT_FALSE(is_fence(2, Mode::Nested, true));
    EXPECT_TRUE(is_fence(3, Mode::Nested, true));
    EXPECT_FALSE(is_fence(5, Mode::Nested, false));
    EXPECT_TRUE(is_fence(6, Mode::Nested, false));
}

TEST_F(LandlockTest, AKernelWithoutItIsNotAsked) {
    spec.message.landlock_abi = 0;
    EXPECT_EQ(confined([] { return try_open("/etc/passwd", O_RDONLY); }), 0);
}

// In a tree of the jar's own a directory that is missing means that the tree is not the jar's.
TEST_F(LandlockTest, ATreeThatLacksSomethingIsAnError) {
    if (fs::exists("/workspace")) {
        GTEST_SKIP() << "this host has a /workspace";
    }
    spec.message.mode = Mode::Root;
    EXPECT_EQ(confined([] { return 0; }), kNotConfined);
}

}  // namespace
}  // namespace belljar::jar
