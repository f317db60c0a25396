#include "host/seccomp.h"

#include <gtest/gtest.h>

#include "host/kernel_file.h"
#include "host/privileges.h"

namespace belljar::host {
namespace {

TEST(HostSeccomp, SaysWhatTheKernelLists) {
    const std::optional<std::string> listed = read_text("/proc/sys/kernel/seccomp/actions_avail");
    if (!listed) {
        GTEST_SKIP() << "this host shows no list of actions";
    }
    const Seccomp found = probe_seccomp();
    for (const std::string& action : words_of(*listed)) {
        EXPECT_TRUE(found.has(action)) << action;
    }
    EXPECT_FALSE(found.has("no_such_action"));
}

TEST(HostSeccomp, InstallsAFilterInAChildOnly) {
    const bool filtered_before = read_privileges().filtered;
    EXPECT_TRUE(probe_seccomp().filter.worked());
    EXPECT_EQ(read_privileges().filtered, filtered_before);
}

}  // namespace
}  // namespace belljar::host
