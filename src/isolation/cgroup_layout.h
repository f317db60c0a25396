#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace belljar::isolation {

// One mounted cgroup hierarchy and the directory in it that this process belongs to.
struct Hierarchy {
    enum class Version { One, Two };

    Version version = Version::Two;
    std::vector<std::string> controllers{};
    std::string own_directory{};
    std::string mount_point{};

    [[nodiscard]] bool has(std::string_view controller) const;
};

// Reads the texts of /proc/self/mountinfo and /proc/self/cgroup. Only hierarchies that carry
// memory, pids, cpu or cpuacct are returned, and the version 2 tree, whatever it carries.
[[nodiscard]] std::vector<Hierarchy> parse_layout(std::string_view mountinfo,
                                                  std::string_view membership);

// The layout of this host; version 2 controllers are read from the own directory.
[[nodiscard]] Result<std::vector<Hierarchy>> read_layout();

// Those of version 2 that a cgroup can hand down, as far as jars use them.
[[nodiscard]] std::vector<std::string> offered_controllers(const std::string& directory);

// "v1", "v2" or "hybrid", for people.
[[nodiscard]] std::string_view describe_layout(const std::vector<Hierarchy>& hierarchies);

}  // namespace belljar::isolation
