#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/attempt.h"

namespace belljar::host {

struct NamespaceTrial {
    std::string name{};  // as below /proc/self/ns: "mnt", "pid", ...
    Attempt made{};
};

// Tries each kind that a jar has, as this process: directly if it may make them, else together with
// a user namespace, as an unprivileged process does.
[[nodiscard]] std::vector<NamespaceTrial> try_namespaces();

// What a process without any privilege can do with a user namespace. Tried as nobody if this
// process is root and can become nobody, else as what it is.
struct UnprivilegedTrial {
    Attempt user_namespace{};  // made, and its user mapped
    Attempt mount{};           // a tmpfs mounted in it: some hosts give no capability there
    Attempt proc{};            // a new /proc mounted in it: refused where the present one is masked
    Attempt overlay{};         // Linux 5.11
};

[[nodiscard]] UnprivilegedTrial try_unprivileged();

// Limits set by the administrator; nothing where this kernel has no such setting.
struct NamespaceLimits {
    std::string scarcest{};                                   // kind with the smallest maximum
    std::optional<std::int64_t> smallest{};                   // user.max_<kind>_namespaces
    std::optional<std::int64_t> user_namespaces{};            // user.max_user_namespaces
    std::optional<std::int64_t> unprivileged_userns_clone{};  // Debian's own
    std::optional<std::int64_t> apparmor_restricts_unprivileged{};  // Ubuntu 23.10
    bool apparmor = false;
};

[[nodiscard]] NamespaceLimits read_namespace_limits();

// Whether root can mount an overlay in a mount namespace of its own.
[[nodiscard]] Attempt try_overlay();

}  // namespace belljar::host
