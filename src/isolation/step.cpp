#include "isolation/step.h"

#include <array>

namespace belljar::isolation {
namespace {

// In the order of the enumeration.
constexpr auto kNames = std::to_array<std::string_view>({
    "read the launch message",
    "make the cgroup",
    "clone into new namespaces",
    "die with the warden",
    "start a new session",
    "join the cgroup",
    "make the cgroup namespace",
    "make mounts private",
    "make the root",
    "mount the system directories",
    "mount /proc",
    "mount /dev",
    "mount /tmp",
    "mount /workspace",
    "write /etc",
    "make the root read-only",
    "pivot the root",
    "set the host name",
    "raise the loopback interface",
    "set resource limits",
    "make a session keyring",
    "drop supplementary groups",
    "make the user namespace",
    "map the user id",
    "take the user id",
    "drop capabilities",
    "set no_new_privs",
    "close descriptors",
    "fork the guest",
    "place the guest's descriptors",
    "enter /workspace",
    "execute the interpreter",
    "finish the set-up in time",
});
static_assert(kNames.size() == static_cast<std::size_t>(Step::SetUpDeadline) + 1);

}  // namespace

std::string_view name_of(Step step) {
    const auto index = static_cast<std::size_t>(step);
    return index < kNames.size() ? kNames[index] : "unknown step";
}

}  // namespace belljar::isolation
