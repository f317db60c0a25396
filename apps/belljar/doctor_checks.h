#pragma once

#include "doctor_check.h"
#include "doctor_facts.h"

// The checks that need no jar. Each group says what was found and what would help.
namespace belljar::apps {

[[nodiscard]] CheckGroup check_kernel(const HostFacts& facts);
[[nodiscard]] CheckGroup check_namespaces(const HostFacts& facts);
[[nodiscard]] CheckGroup check_limits(const HostFacts& facts);
[[nodiscard]] CheckGroup check_files(const HostFacts& facts);
[[nodiscard]] CheckGroup check_hardening(const HostFacts& facts);
[[nodiscard]] CheckGroup check_tools();

}  // namespace belljar::apps
