#include "jar/step.h"

#include <array>

namespace belljar::jar {
namespace {

// In the order of the enumeration.
constexpr auto kNames = std::to_array<std::string_view>({
    "read the launch message",
    "make the cgroup",
    "make the workspace",
    "make the stage of the file tree",
    "clone into new namespaces",
    "receive the plan of the jar",
    "die with the warden",
    "start a new session",
    "join the cgroup",
    "make the cgroup namespace",
    "make mounts private",
    "make the root",
    "mount /etc and /tools",
    "mount the system directories",
    "mount /logs",
    "mount /proc",
    "mount /dev",
    "mount /tmp",
    "mount /workspace",
    "make the root read-only",
    "pivot the root",
    "show the places of its files",
    "set the host name",
    "raise the loopback interface",
    "set resource limits",
    "make a session keyring",
    "drop supplementary groups",
    "take the user id outside",
    "make the user namespace",
    "forbid further namespaces",
    "map the user id",
    "take the user id",
    "drop capabilities",
    "set no_new_privs",
    "close descriptors",
    "fork the guest",
    "enter the namespaces of the jar",
    "place the guest's descriptors",
    "enter /workspace",
    "deny writable and executable memory",
    "enter Landlock",
    "install the seccomp filter",
    "execute the interpreter",
    "finish the set-up in time",
});
static_assert(kNames.size() == static_cast<std::size_t>(Step::SetUpDeadline) + 1);

}  // namespace

std::string_view name_of(Step step) {
    const auto index = static_cast<std::size_t>(step);
    return index < kNames.size() ? kNames[index] : "unknown step";
}

}  // namespace belljar::jar
