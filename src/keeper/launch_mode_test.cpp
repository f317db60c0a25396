#include "keeper/launch_mode.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>

#include "cgroup/cgroupfs.h"
#include "jar/identity.h"
#include "jar/seqpacket.h"

namespace belljar::keeper {
namespace {

namespace fs = std::filesystem;

using cgroup::read_words;
using cgroup::write_control;

constexpr uid_t kSomebody = 1'900'000'005;
constexpr int kNotPrepared = 100;
constexpr int kImpossible = 50;

// What became of a question for a mode: its number, or kImpossible.
int ask_for(std::string_view wanted) {
    const Result<jar::Mode> mode = choose_mode(wanted);
    if (!mode) {
        return mode.error().code == ErrorCode::Unsupported ? kImpossible : kNotPrepared;
    }
    return static_cast<int>(*mode);
}

int number_of(jar::Mode mode) { return static_cast<int>(mode); }

bool become_somebody() {
    // A change of user makes /proc/self root's until it is said otherwise.
    return ::setgroups(0, nullptr) == 0 && ::setresgid(kSomebody, kSomebody, kSomebody) == 0 &&
           ::setresuid(kSomebody, kSomebody, kSomebody) == 0 && ::prctl(PR_SET_DUMPABLE, 1UL) == 0;
}

// In a user namespace in which no namespace of the given kinds can be made.
bool lose_namespaces(std::initializer_list<const char*> kinds) {
    const std::string map = "0 " + std::to_string(::geteuid()) + " 1";
    return ::unshare(CLONE_NEWUSER) == 0 && write_control("/proc/self/setgroups", "deny") &&
           write_control("/proc/self/gid_map", map) && write_control("/proc/self/uid_map", map) &&
           std::ranges::all_of(kinds, [](const std::string& kind) {
               return write_control("/proc/sys/user/max_" + kind + "_namespaces", "0").has_value();
           });
}

// What `act` returns in a process of its own, after `prepare` there.
int in_child(const std::function<bool()>& prepare, const std::function<int()>& act) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(prepare() ? act() : kNotPrepared);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class LaunchModeTest : public testing::Test {
   protected:
    void SetUp() override {
        if (::geteuid() != 0) {
            GTEST_SKIP() << "only root can try all of them";
        }
    }
};

TEST_F(LaunchModeTest, RootHasEveryModeButTheOneOfOthers) {
    EXPECT_EQ(ask_for("auto"), number_of(jar::Mode::Root));
    EXPECT_EQ(ask_for("root"), number_of(jar::Mode::Root));
    EXPECT_EQ(ask_for("rootless"), kImpossible) << "guests would have root's user id";
    EXPECT_EQ(ask_for("nested"), number_of(jar::Mode::Nested));
}

TEST_F(LaunchModeTest, AWordThatIsNoModeIsImpossible) {
    for (const char* word : {"", "Root", "docker", "root ", "none"}) {
        EXPECT_EQ(ask_for(word), kImpossible) << word;
    }
}

TEST_F(LaunchModeTest, AnOrdinaryUserHasANamespaceOfItsOwn) {
    const auto ask = [](const char* word) {
        return in_child(become_somebody, [word] { return ask_for(word); });
    };
    EXPECT_EQ(ask("auto"), number_of(jar::Mode::Rootless));
    EXPECT_EQ(ask("root"), kImpossible) << "never replaced by a weaker one";
    EXPECT_EQ(ask("rootless"), number_of(jar::Mode::Rootless));
    EXPECT_EQ(ask("nested"), number_of(jar::Mode::Nested));
}

TEST_F(LaunchModeTest, RootWithoutCapabilitiesIsNotRoot) {
    const auto drop = [] { return jar::drop_capabilities().has_value(); };
    EXPECT_EQ(in_child(drop, [] { return ask_for("root"); }), kImpossible);
}

TEST_F(LaunchModeTest, WhereNoNamespaceCanBeMadeThereIsOnlyTheLast) {
    const auto lose = [] { return become_somebody() && lose_namespaces({"user", "pid"}); };
    EXPECT_EQ(in_child(lose, [] { return ask_for("auto"); }), number_of(jar::Mode::Nested));
    EXPECT_EQ(in_child(lose, [] { return ask_for("root"); }), kImpossible);
    EXPECT_EQ(in_child(lose, [] { return ask_for("rootless"); }), kImpossible);
    EXPECT_EQ(in_child(lose, [] { return ask_for("nested"); }), number_of(jar::Mode::Nested));
}

// Any one that is missing is enough: a mode is had as a whole.
TEST_F(LaunchModeTest, OneNamespaceThatIsMissingIsEnough) {
    for (const char* kind : {"mnt", "pid", "ipc", "uts", "net", "cgroup"}) {
        const auto lose = [kind] { return become_somebody() && lose_namespaces({kind}); };
        EXPECT_EQ(in_child(lose, [] { return ask_for("auto"); }), number_of(jar::Mode::Nested))
            << kind;
    }
}

TEST_F(LaunchModeTest, IdsOfOthersOnlyForWhoMayChangeToThem) {
    EXPECT_GT(ids_of_nested().count, 1000U);
    EXPECT_GE(ids_of_nested().first, 65536U);
    EXPECT_EQ(in_child(become_somebody, [] { return ids_of_nested().count == 0 ? 0 : 1; }), 0);
}

// The two halves of a rootless start. The warden's exit code is 0 if it has become root of its
// namespaces; what `given` says of its ids is for the test.
struct Meeting {
    Result<UserIds> given = fail(ErrorCode::Internal, "not met");
    int warden = -1;
    std::string users{};
};

Meeting meet() {
    Meeting meeting;
    jar::SocketPair sockets = jar::make_seqpacket_pair().value();
    Pipe hold = make_pipe().value();
    const pid_t warden = ::fork();
    if (warden == 0) {
        sockets.first.reset();
        hold.write_end.reset();
        if (!enter_own_namespaces(sockets.second)) {
            ::_exit(1);  // nobody waits for it then
        }
        char byte = 0;
        const bool held = ::read(hold.read_end.get(), &byte, 1) == 0;
        ::_exit(held && ::geteuid() == 0 && ::getegid() == 0 ? 0 : 1);
    }
    sockets.second.reset();
    meeting.given = give_ids(warden, sockets.first);
    sockets.first.reset();
    for (const std::string& word : read_words("/proc/" + std::to_string(warden) + "/uid_map")) {
        meeting.users += word + " ";
    }
    hold.write_end.reset();
    EXPECT_EQ(::waitpid(warden, &meeting.warden, 0), warden);
    return meeting;
}

TEST_F(LaunchModeTest, AnAccountWithoutOtherIdsHasOnlyItsOwn) {
    EXPECT_EQ(in_child(become_somebody,
                       [] {
                           const Meeting meeting = meet();
                           const std::string own = "0 " + std::to_string(kSomebody) + " 1 ";
                           return meeting.given && meeting.given->count == 0 &&
                                          meeting.warden == 0 && meeting.users == own
                                      ? 0
                                      : 1;
                       }),
              0);
}

bool cover(const fs::path& file, const std::string& path, const std::string& more) {
    std::ofstream(file) << read_file(path, mebibytes(1)).value_or("") << more << std::flush;
    return ::mount(file.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

// An /etc that knows the account, in a mount namespace that ends with the process.
bool give_subordinate_ids(const fs::path& place) {
    const std::string number = std::to_string(kSomebody);
    return ::unshare(CLONE_NEWNS) == 0 &&
           ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           cover(place / "passwd", "/etc/passwd",
                 "keeper-test:x:" + number + ":" + number + "::/:/bin/sh\n") &&
           cover(place / "subuid", "/etc/subuid", "keeper-test:2100000000:1000\n") &&
           cover(place / "subgid", "/etc/subgid", "keeper-test:2100000000:500\n");
}

TEST_F(LaunchModeTest, AnAccountWithOtherIdsHasThoseToo) {
    if (::access("/usr/bin/newuidmap", X_OK) != 0 || ::access("/etc/subuid", F_OK) != 0 ||
        ::access("/etc/subgid", F_OK) != 0) {
        GTEST_SKIP() << "newuidmap, /etc/subuid and /etc/subgid are needed";
    }
    std::string name = testing::TempDir() + "launch-mode-test-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    const auto prepare = [&name] { return give_subordinate_ids(name) && become_somebody(); };
    EXPECT_EQ(in_child(prepare,
                       [] {
                           const Meeting meeting = meet();
                           const std::string all =
                               "0 " + std::to_string(kSomebody) + " 1 1 2100000000 1000 ";
                           return meeting.given && meeting.given->first == 1 &&
                                          meeting.given->count == 500 && meeting.warden == 0 &&
                                          meeting.users == all
                                      ? 0
                                      : 1;
                       }),
              0)
        << "as many as there are users and groups for";
    fs::remove_all(name);
}

TEST_F(LaunchModeTest, AWardenThatIsGoneIsAnError) {
    jar::SocketPair sockets = jar::make_seqpacket_pair().value();
    sockets.second.reset();
    EXPECT_EQ(give_ids(::getpid(), sockets.first).error().sys_errno, ESRCH);
}

TEST_F(LaunchModeTest, AKeeperThatIsGoneIsAnError) {
    EXPECT_EQ(in_child([] { return true; },
                       [] {
                           jar::SocketPair sockets = jar::make_seqpacket_pair().value();
                           sockets.first.reset();
                           return enter_own_namespaces(sockets.second) ? 1 : 0;
                       }),
              0);
}

}  // namespace
}  // namespace belljar::keeper
