#include "host/namespaces.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "host/kernel_file.h"
#include "host/privileges.h"

namespace belljar::host {
namespace {

TEST(HostNamespaces, TriesEachKindOfAJar) {
    std::vector<std::string> names;
    for (const NamespaceTrial& trial : try_namespaces()) {
        names.push_back(trial.name);
        if (read_privileges().has(Capability::SysAdmin)) {
            EXPECT_TRUE(trial.made.worked()) << trial.name << ": " << trial.made.sys_errno;
        }
    }
    EXPECT_EQ(names,
              (std::vector<std::string>{"mnt", "pid", "net", "ipc", "uts", "cgroup", "user"}));
}

TEST(HostNamespaces, TrialsLeaveThisProcessAndItsMountsAsTheyAre) {
    const auto state = [] {
        std::string text = read_text("/proc/self/mountinfo").value_or("");
        for (const char* name : {"mnt", "pid_for_children", "net", "user"}) {
            text += std::filesystem::read_symlink(std::string("/proc/self/ns/") + name).string();
        }
        return text;
    };
    const std::string before = state();
    [[maybe_unused]] const auto trials = try_namespaces();
    [[maybe_unused]] const auto unprivileged = try_unprivileged();
    [[maybe_unused]] const auto overlay = try_overlay();
    EXPECT_EQ(state(), before);
}

TEST(HostNamespaces, AMountNeedsTheUserNamespaceFirst) {
    const UnprivilegedTrial trial = try_unprivileged();
    if (!trial.user_namespace.worked()) {
        EXPECT_FALSE(trial.mount.worked());
        EXPECT_FALSE(trial.proc.worked());
        EXPECT_FALSE(trial.overlay.worked());
    }
    if (!trial.mount.worked()) {
        EXPECT_FALSE(trial.overlay.worked());
    }
}

TEST(HostNamespaces, FindsTheScarcestKind) {
    const NamespaceLimits limits = read_namespace_limits();
    if (!limits.smallest) {
        GTEST_SKIP() << "this kernel has no limits on namespaces";
    }
    EXPECT_FALSE(limits.scarcest.empty());
    EXPECT_LE(*limits.smallest, *limits.user_namespaces);
}

}  // namespace
}  // namespace belljar::host
