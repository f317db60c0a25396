#include "keeper/cgroup_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "base/id.h"
#include "cgroup/jar_cgroup.h"

namespace belljar::keeper {
namespace {

namespace fs = std::filesystem;

using cgroup::has_control;
using cgroup::Hierarchy;
using cgroup::JarCgroup;
using cgroup::JarCgroups;
using cgroup::open_control;
using cgroup::read_layout;
using cgroup::read_words;
using cgroup::write_control;

constexpr uid_t kSomebody = 1'900'000'001;

std::string content(const std::string& path) {
    std::string text = read_file(path, kibibytes(64)).value_or("absent");
    text.erase(text.find_last_not_of('\n') + 1);
    return text;
}

// Runs `act` in a process of its own, which ends at once, as if killed. The exit code is what `act`
// returns.
template <typename Act>
int in_child(Act act) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(act());
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The number of the first check that fails, or 0.
int first_failed(std::initializer_list<bool> checks) {
    const auto* failed = std::ranges::find(checks, false);
    return failed == checks.end() ? 0 : static_cast<int>(failed - checks.begin()) + 1;
}

bool move_to(const std::string& cgroup, pid_t process) {
    return write_control(cgroup + "/cgroup.procs", std::to_string(process)).has_value();
}

// A process that is cloned into the jar's version 2 cgroup and joins the others.
bool can_be_entered(const JarCgroup& jar) {
    clone_args arguments{};
    arguments.exit_signal = SIGCHLD;
    if (jar.clone_target() >= 0) {
        arguments.flags = CLONE_INTO_CGROUP;
        arguments.cgroup = static_cast<std::uint64_t>(jar.clone_target());
    }
    const auto child = static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof(arguments)));
    if (child == 0) {
        const bool joined = std::ranges::all_of(
            jar.tasks_files(), [](const Fd& tasks) { return ::write(tasks.get(), "0", 1) == 1; });
        ::_exit(joined ? 0 : 1);
    }
    int status = -1;
    return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

// As the keeper does it.
CgroupTree make_tree() { return CgroupTree::create({::getpid()}, read_layout()); }

std::uint32_t layers_of(const CgroupTree& tree) { return JarCgroups(tree.paths()).layers(); }

Result<JarCgroup> make_jar(const CgroupTree& tree, const execution::Limits& limits = {}) {
    return JarCgroups(tree.paths()).make(1, limits);
}

bool becomes_somebody() {
    return ::setresgid(kSomebody, kSomebody, kSomebody) == 0 &&
           ::setresuid(kSomebody, kSomebody, kSomebody) == 0;
}

bool becomes_root_of_nothing() {
    // A change of user makes /proc/self the host root's until it is said otherwise.
    const bool inside =
        becomes_somebody() && ::prctl(PR_SET_DUMPABLE, 1UL) == 0 && ::unshare(CLONE_NEWUSER) == 0;
    const std::string map = fmt::format("0 {} 1", kSomebody);
    return inside && write_control("/proc/self/setgroups", "deny") &&
           write_control("/proc/self/uid_map", map) && write_control("/proc/self/gid_map", map) &&
           ::geteuid() == 0;
}

class CgroupTreeTest : public testing::Test {
   protected:
    void SetUp() override {
        if (::geteuid() != 0) {
            GTEST_SKIP() << "cgroups can be made only by root";
        }
        layout = read_layout();
        ASSERT_FALSE(layout.empty());
    }

    void TearDown() override {
        remove_stale_cgroup_trees();
        for (const std::string& path : places) {
            EXPECT_EQ(::rmdir(path.c_str()), 0) << path;
        }
    }

    // The layout as seen from a cgroup of its own in each hierarchy, as that of a service.
    std::vector<Hierarchy> make_service() {
        std::vector<Hierarchy> inside = layout;
        const std::string name = "/cgroup-test-" + random_hex(4);
        for (Hierarchy& hierarchy : inside) {
            hierarchy.own_directory += name;
            EXPECT_EQ(::mkdir(hierarchy.own_directory.c_str(), 0755), 0);
            places.push_back(hierarchy.own_directory);
        }
        return inside;
    }

    static std::vector<std::string> trees_in(const std::vector<Hierarchy>& hierarchies) {
        std::vector<std::string> found;
        for (const Hierarchy& hierarchy : hierarchies) {
            for (const auto& entry : fs::directory_iterator(hierarchy.own_directory)) {
                if (entry.path().filename().native().starts_with("belljar-")) {
                    found.push_back(entry.path());
                }
            }
        }
        return found;
    }

    std::vector<Hierarchy> layout;
    std::vector<std::string> places;
    execution::Limits limits;
};

TEST_F(CgroupTreeTest, NobodyElseCanOpenIt) {
    const std::vector<Hierarchy> service = make_service();
    CgroupTree tree = CgroupTree::create({::getpid()}, service);
    const std::vector<std::string> found = trees_in(service);
    ASSERT_EQ(found.size(), service.size());
    const auto can_open = [](const std::string& path) {
        return open_control(path, O_RDONLY | O_DIRECTORY).has_value();
    };
    EXPECT_TRUE(std::ranges::all_of(found, can_open));
    EXPECT_EQ(in_child([&] {
                  return first_failed({becomes_somebody(), std::ranges::none_of(found, can_open)});
              }),
              0);
    EXPECT_TRUE(tree.remove());
}

// Without being told, a cgroup has 1024 shares or a weight of 100.
TEST_F(CgroupTreeTest, JarsComeAfterTheServer) {
    CgroupTree tree = CgroupTree::create({::getpid()}, make_service());
    std::vector<std::string> weights;
    for (const std::string& path : tree.paths()) {
        for (const char* file : {"/cpu.shares", "/cpu.weight"}) {
            if (has_control(path + file)) {
                weights.push_back(content(path + file));
            }
        }
    }
    ASSERT_EQ(weights.size(), 1U);
    EXPECT_TRUE(weights[0] == "128" || weights[0] == "12") << weights[0];
    EXPECT_TRUE(tree.remove());
}

TEST_F(CgroupTreeTest, WhoIsNotRootHasNoLayersAndIsToldWhy) {
    EXPECT_EQ(in_child([this] {
                  const bool changed = becomes_somebody();
                  CgroupTree tree = make_tree();
                  Result<JarCgroup> jar = make_jar(tree, limits);
                  return first_failed({changed, layers_of(tree) == 0,
                                       tree.problems().size() >= layout.size(), jar.has_value(),
                                       jar->clone_target() == -1, jar->tasks_files().empty(),
                                       can_be_entered(*jar), jar->kill().has_value(),
                                       jar->remove().has_value(), tree.remove().has_value()});
              }),
              0);
}

TEST_F(CgroupTreeTest, RootOfAUserNamespaceIsNotRoot) {
    EXPECT_EQ(in_child([this] {
                  const bool changed = becomes_root_of_nothing();
                  CgroupTree tree = make_tree();
                  return first_failed(
                      {changed, layers_of(tree) == 0, tree.problems().size() >= layout.size(),
                       make_jar(tree, limits).has_value(), remove_stale_cgroup_trees() == 0});
              }),
              0);
}

// What a service manager does for a unit with Delegate=yes.
void delegate(const std::vector<Hierarchy>& hierarchies) {
    for (const Hierarchy& hierarchy : hierarchies) {
        const std::string& path = hierarchy.own_directory;
        EXPECT_EQ(::chown(path.c_str(), kSomebody, kSomebody), 0);
        for (const char* name : {"/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads"}) {
            if (has_control(path + name)) {
                EXPECT_EQ(::chown((path + name).c_str(), kSomebody, kSomebody), 0);
            }
        }
    }
}

bool enter(const std::vector<Hierarchy>& hierarchies) {
    return std::ranges::all_of(hierarchies, [](const Hierarchy& hierarchy) {
        return move_to(hierarchy.own_directory, ::getpid());
    });
}

TEST_F(CgroupTreeTest, WhoWasGivenACgroupHasEveryLayer) {
    CgroupTree mine = make_tree();
    const std::uint32_t every_layer = layers_of(mine);
    const std::vector<Hierarchy> service = make_service();
    delegate(service);
    for (const bool in_namespace : {false, true}) {
        EXPECT_EQ(in_child([&] {
                      const bool changed =
                          enter(service) &&
                          (in_namespace ? becomes_root_of_nothing() : becomes_somebody());
                      CgroupTree tree = make_tree();
                      Result<JarCgroup> jar = make_jar(tree, limits);
                      return first_failed({changed, tree.problems().empty(),
                                           layers_of(tree) == every_layer, jar.has_value(),
                                           can_be_entered(*jar), jar->kill().has_value(),
                                           jar->remove().has_value(), tree.remove().has_value(),
                                           remove_stale_cgroup_trees() == 0});
                  }),
                  0)
            << (in_namespace ? "in a user namespace" : "as a user");
    }
    EXPECT_TRUE(trees_in(service).empty());
    EXPECT_TRUE(mine.remove());
}

// CLONE_INTO_CGROUP asks for the right to write into the cgroup.procs of the common ancestor.
TEST_F(CgroupTreeTest, ACgroupThatCannotBeClonedIntoIsLeftOut) {
    std::vector<Hierarchy> service = make_service();
    if (std::ranges::none_of(service, &Hierarchy::unified)) {
        GTEST_SKIP() << "this host has no version 2";
    }
    delegate(service);
    for (const Hierarchy& hierarchy : service) {
        EXPECT_EQ(::chown((hierarchy.own_directory + "/cgroup.procs").c_str(), 0, 0), 0);
    }
    EXPECT_EQ(in_child([&] {
                  const bool changed = enter(service) && becomes_somebody();
                  CgroupTree tree = make_tree();
                  Result<JarCgroup> jar = make_jar(tree, limits);
                  return first_failed({changed, tree.problems().size() == 1, jar.has_value(),
                                       jar->clone_target() == -1, can_be_entered(*jar),
                                       jar->remove().has_value(), tree.remove().has_value()});
              }),
              0);
}

TEST_F(CgroupTreeTest, AHierarchyThatHoldsNothingForJarsCostsThemNothing) {
    const std::string freezer = "/sys/fs/cgroup/freezer";
    if (!has_control(freezer + "/cgroup.procs")) {
        GTEST_SKIP() << "this host has no version 1 freezer";
    }
    CgroupTree tree = CgroupTree::create(
        {::getpid()}, {{.unified = false, .mount_point = freezer, .own_directory = freezer}});
    const JarCgroup jar = make_jar(tree, limits).value();
    EXPECT_TRUE(jar.tasks_files().empty());
    EXPECT_TRUE(tree.remove());
}

TEST_F(CgroupTreeTest, AStaleTreeIsFoundWhereverItIs) {
    const std::vector<Hierarchy> service = make_service();
    EXPECT_EQ(in_child([&] {
                  CgroupTree tree = CgroupTree::create({::getpid()}, service);
                  Result<JarCgroup> jar = make_jar(tree, limits);
                  return jar ? 0 : 1;
              }),
              0);
    EXPECT_EQ(trees_in(service).size(), service.size());
    EXPECT_GE(remove_stale_cgroup_trees(), service.size());
    EXPECT_TRUE(trees_in(service).empty());
}

TEST_F(CgroupTreeTest, WhatBelongsToOthersOrIsCalledOtherwiseIsNotStale) {
    const std::string place = make_service().front().own_directory;
    const std::vector<std::string> others{place + "/belljar-0123456789abcdef",
                                          place + "/belljar-0123456789ABCDEF",
                                          place + "/belljar-0123456789abcde", place + "/belljar-"};
    for (const std::string& path : others) {
        ASSERT_EQ(::mkdir(path.c_str(), 0755), 0);
    }
    ASSERT_EQ(::chown(others.front().c_str(), kSomebody, kSomebody), 0);
    remove_stale_cgroup_trees();
    for (const std::string& path : others) {
        EXPECT_EQ(::rmdir(path.c_str()), 0) << path << " is gone";
    }
}

// Starts and ends as a warden does, again and again; the number of the check that failed, or 0.
int be_many_wardens(std::uint32_t layers) {
    int failed = 0;
    for (int round = 0; failed == 0 && round < 50; ++round) {
        remove_stale_cgroup_trees();
        CgroupTree tree = make_tree();
        failed = first_failed({tree.problems().empty(), layers_of(tree) == layers,
                               make_jar(tree).has_value(), tree.remove().has_value()});
    }
    return failed;
}

// Before it has its lock, a tree looks stale to others.
TEST_F(CgroupTreeTest, WardensThatStartTogetherDoNotHarmEachOther) {
    CgroupTree mine = make_tree();
    std::vector<pid_t> children;
    for (int count = 0; count < 4; ++count) {
        children.push_back(::fork());
        if (children.back() == 0) {
            ::_exit(be_many_wardens(layers_of(mine)));
        }
    }
    for (const pid_t child : children) {
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    EXPECT_TRUE(make_jar(mine, limits));
    EXPECT_TRUE(mine.remove());
}

TEST_F(CgroupTreeTest, RemovingItLeavesNothing) {
    CgroupTree tree = make_tree();
    const std::vector<std::string> paths = tree.paths();
    ASSERT_FALSE(paths.empty());
    JarCgroup jar = make_jar(tree, limits).value();
    EXPECT_TRUE(jar.remove());
    EXPECT_TRUE(tree.remove());
    EXPECT_TRUE(std::ranges::none_of(paths, has_control));
    EXPECT_TRUE(tree.paths().empty());
    EXPECT_TRUE(tree.remove()) << "removing twice is harmless";
}

TEST_F(CgroupTreeTest, ALivingTreeIsNotStale) {
    CgroupTree tree = make_tree();
    remove_stale_cgroup_trees();
    EXPECT_TRUE(std::ranges::all_of(tree.paths(), has_control));
    EXPECT_TRUE(make_jar(tree, limits));
    EXPECT_TRUE(tree.remove());
}

// A process in a cgroup that waits until it is ended.
pid_t start_member(const std::string& cgroup) {
    const pid_t member = ::fork();
    if (member == 0) {
        ::pause();
        ::_exit(0);
    }
    EXPECT_TRUE(move_to(cgroup, member));
    return member;
}

bool was_killed(pid_t process) {
    int status = 0;
    return ::waitpid(process, &status, 0) == process && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGKILL;
}

// A keeper that dies at once: its tree stays, with a process in it.
TEST_F(CgroupTreeTest, TheTreeOfADeadKeeperIsRemovedWithItsProcesses) {
    const std::vector<Hierarchy> service = make_service();
    EXPECT_EQ(in_child([&] {
                  const CgroupTree tree = CgroupTree::create({::getpid()}, service);
                  return tree.paths().empty() ? 1 : 0;
              }),
              0);
    const std::vector<std::string> stale = trees_in(service);
    ASSERT_FALSE(stale.empty());
    ASSERT_TRUE(fs::create_directory(stale.back() + "/jar-2"));
    const pid_t member = start_member(stale.back() + "/jar-2");
    EXPECT_GE(remove_stale_cgroup_trees(), 1U);
    EXPECT_TRUE(trees_in(service).empty());
    EXPECT_TRUE(was_killed(member));
}

// What a warden that was killed leaves.
TEST_F(CgroupTreeTest, RemovingItEndsWhatIsLeftInIt) {
    CgroupTree tree = make_tree();
    const std::string left = tree.paths().back() + "/jar-3";
    ASSERT_TRUE(fs::create_directory(left));
    const pid_t member = start_member(left);
    EXPECT_TRUE(tree.remove());
    EXPECT_TRUE(was_killed(member));
}

// What version 2 demands is tried with a controller that a hybrid host leaves on it.
class CgroupVersionTwoTest : public CgroupTreeTest {
   protected:
    void SetUp() override {
        CgroupTreeTest::SetUp();
        std::erase_if(layout, [](const Hierarchy& hierarchy) { return !hierarchy.unified; });
        if (IsSkipped() || layout.empty()) {
            GTEST_SKIP() << "this host has no version 2";
        }
        top = layout.front().mount_point;
        const auto offered = read_words(top + "/cgroup.controllers");
        if (offered.empty()) {
            GTEST_SKIP() << "this host has no controller on version 2";
        }
        controller = offered.front();
        before = read_words(top + "/cgroup.subtree_control");
        ASSERT_TRUE(write_control(top + "/cgroup.subtree_control", "+" + controller));
        layout.front().controllers = {controller};
        layout.front().own_directory = top;
        inside = make_service();
    }

    void TearDown() override {
        CgroupTreeTest::TearDown();
        if (!controller.empty() && std::ranges::count(before, controller) == 0) {
            EXPECT_TRUE(write_control(top + "/cgroup.subtree_control", "-" + controller));
        }
    }

    [[nodiscard]] std::string service() const { return inside.front().own_directory; }
    [[nodiscard]] std::string handed_down() const {
        return content(service() + "/cgroup.subtree_control");
    }
    static std::string own_path() { return read_words("/proc/self/cgroup").back(); }

    std::string top;
    std::string controller;
    std::vector<std::string> before;
    std::vector<Hierarchy> inside;
};

TEST_F(CgroupVersionTwoTest, StepsAsideInACgroupOfItsOwnAndBack) {
    EXPECT_EQ(in_child([this] {
                  const bool entered = move_to(service(), ::getpid());
                  const std::string home = own_path();
                  CgroupTree tree = CgroupTree::create({1, ::getpid()}, inside);
                  const bool aside = own_path().ends_with("/server");
                  const bool given = handed_down() == controller;
                  Result<JarCgroup> jar = make_jar(tree, limits);
                  const std::string path =
                      fs::read_symlink(fmt::format("/proc/self/fd/{}", jar->clone_target()));
                  const bool has = content(path + "/cgroup.controllers") == controller;
                  const bool leaf = content(path + "/cgroup.max.descendants") == "0";
                  const bool cloned = can_be_entered(*jar);
                  const bool gone = jar->remove() && tree.remove();
                  return first_failed({entered, tree.problems().empty(), aside, given, has, leaf,
                                       cloned, path.starts_with(service() + "/belljar-"), gone,
                                       own_path() == home, handed_down().empty()});
              }),
              0);
    EXPECT_TRUE(trees_in(inside).empty());
}

TEST_F(CgroupVersionTwoTest, GoesToTheTopWhereOthersAreInTheWay) {
    const pid_t other = ::fork();
    if (other == 0) {
        ::pause();
        ::_exit(0);
    }
    ASSERT_TRUE(move_to(service(), other));
    EXPECT_EQ(in_child([this] {
                  const bool entered = move_to(service(), ::getpid());
                  const std::string home = own_path();
                  CgroupTree tree = CgroupTree::create({::getpid()}, inside);
                  Result<JarCgroup> jar = make_jar(tree, limits);
                  const std::string path =
                      fs::read_symlink(fmt::format("/proc/self/fd/{}", jar->clone_target()));
                  const bool has = content(path + "/cgroup.controllers") == controller;
                  return first_failed({entered, tree.problems().size() == 1, has,
                                       path.starts_with(top + "/belljar-"), own_path() == home,
                                       handed_down().empty(), trees_in(inside).empty(),
                                       can_be_entered(*jar), jar->remove().has_value(),
                                       tree.remove().has_value()});
              }),
              0);
    ASSERT_EQ(::kill(other, SIGKILL), 0);
    ASSERT_EQ(::waitpid(other, nullptr, 0), other);
}

TEST_F(CgroupVersionTwoTest, GoesToTheTopWhereTheOwnCgroupOffersLess) {
    const Result<void> taken = write_control(top + "/cgroup.subtree_control", "-" + controller);
    if (!taken && taken.error().sys_errno == EBUSY) {
        GTEST_SKIP() << "somebody else uses the controller";
    }
    ASSERT_TRUE(taken);
    EXPECT_EQ(in_child([this] {
                  const bool entered = move_to(service(), ::getpid());
                  CgroupTree tree = CgroupTree::create({::getpid()}, inside);
                  return first_failed({entered, tree.problems().empty(), trees_in(inside).empty(),
                                       tree.remove().has_value()});
              }),
              0);
}

TEST_F(CgroupVersionTwoTest, AUserGoesToTheHighestCgroupThatIsHis) {
    const std::string deep = service() + "/app.slice";
    ASSERT_EQ(::mkdir(deep.c_str(), 0755), 0);
    std::vector<Hierarchy> below = inside;
    below.front().own_directory = deep;
    delegate(inside);
    delegate(below);
    EXPECT_EQ(in_child([&] {
                  const bool changed = move_to(deep, ::getpid()) && becomes_somebody();
                  CgroupTree tree = CgroupTree::create({::getpid()}, below);
                  Result<JarCgroup> jar = make_jar(tree, limits);
                  const std::string path =
                      fs::read_symlink(fmt::format("/proc/self/fd/{}", jar->clone_target()));
                  return first_failed({changed, tree.problems().empty(),
                                       path.starts_with(service() + "/belljar-"),
                                       handed_down() == controller,
                                       content(path + "/cgroup.controllers") == controller,
                                       can_be_entered(*jar), jar->kill().has_value(),
                                       jar->remove().has_value(), tree.remove().has_value()});
              }),
              0);
    EXPECT_EQ(::rmdir(deep.c_str()), 0);
}

TEST_F(CgroupVersionTwoTest, WhatADeadWardenHadMovedAsideIsRemoved) {
    EXPECT_EQ(in_child([this] {
                  const bool entered = move_to(service(), ::getpid());
                  CgroupTree tree = CgroupTree::create({::getpid()}, inside);
                  return first_failed({entered, make_jar(tree, limits).has_value(),
                                       own_path().ends_with("/server")});
              }),
              0);
    EXPECT_EQ(trees_in(inside).size(), 1U);
    EXPECT_GE(remove_stale_cgroup_trees(), 1U);
    EXPECT_TRUE(trees_in(inside).empty());
    EXPECT_EQ(handed_down(), "") << "the service may hold processes again";
}

// The keeper: it is in the leaf itself when it cleans up after the warden.
TEST_F(CgroupVersionTwoTest, WhoIsStillAsideIsMovedBack) {
    EXPECT_EQ(in_child([this] {
                  const bool entered = move_to(service(), ::getpid());
                  const std::string home = own_path();
                  const pid_t keeper = ::getpid();
                  const int warden = in_child([&] {
                      CgroupTree tree = CgroupTree::create({::getpid(), keeper}, inside);
                      return first_failed({tree.problems().empty(), own_path() != home});
                  });
                  const bool aside = own_path().ends_with("/server");
                  const bool removed = remove_stale_cgroup_trees() >= 1;
                  return first_failed({entered, warden == 0, aside, removed, own_path() == home,
                                       trees_in(inside).empty()});
              }),
              0);
}

}  // namespace
}  // namespace belljar::keeper
