#include "doctor_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "host/container.h"

namespace belljar::apps {

bool HostFacts::is_administrator() const {
    return privileges.effective_user == 0 && privileges.has(host::Capability::SysAdmin);
}

bool HostFacts::has_user_ids() const {
    const host::IdRange range{.first = settings.isolation.uid_base,
                              .count = settings.isolation.uid_count};
    return std::ranges::any_of(user_ids.existing, [&range](const host::IdRange& existing) {
        return existing.contains(range);
    });
}

HostFacts gather_facts(const config::Settings& settings) {
    HostFacts facts{.settings = settings,
                    .kernel = host::read_kernel(),
                    .privileges = host::read_privileges(),
                    .container = host::container_of(host::read_container_traces()),
                    .namespaces = host::try_namespaces(),
                    .unprivileged = host::try_unprivileged(),
                    .namespace_limits = host::read_namespace_limits(),
                    .user_ids = host::read_user_ids(),
                    .seccomp = host::probe_seccomp(),
                    .landlock = host::probe_landlock(),
                    .hardening = host::read_hardening()};
    if (Result<std::vector<isolation::Hierarchy>> layout = isolation::read_layout(); layout) {
        facts.cgroups = std::move(*layout);
    }
    return facts;
}

std::string describe(const host::Attempt& attempt) {
    if (attempt.signal != 0) {
        return fmt::format("signal {}", attempt.signal);
    }
    if (attempt.sys_errno == 0) {
        return "works";
    }
    const char* name = ::strerrorname_np(attempt.sys_errno);
    return name == nullptr ? fmt::format("errno {}", attempt.sys_errno) : name;
}

}  // namespace belljar::apps
