#include "isolation/cgroup_layout.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "base/fd.h"

namespace belljar::isolation {
namespace {

constexpr std::array<std::string_view, 4> kUsed{"memory", "pids", "cpu", "cpuacct"};
constexpr Bytes kProcFileLimit = mebibytes(4);

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(end + 1);
    }
}

// mountinfo writes blanks, tabs, newlines and backslashes as three octal digits.
std::string decode(std::string_view text) {
    std::string plain;
    for (std::size_t index = 0; index < text.size(); ++index) {
        unsigned code = 0;
        const char* digits = text.data() + index + 1;
        const bool escaped = text[index] == '\\' && index + 3 < text.size() &&
                             std::from_chars(digits, digits + 3, code, 8).ptr == digits + 3;
        plain += escaped ? static_cast<char>(code) : text[index];
        index += escaped ? 3 : 0;
    }
    return plain;
}

// Where `path` of a hierarchy is seen through a mount that shows it from `root` on. A path outside
// of what is shown becomes the mount point itself.
std::string visible_path(const std::string& mount_point, const std::string& root,
                         std::string_view path) {
    if (root != "/") {
        const bool below = path == root || path.starts_with(root + "/");
        path = below ? path.substr(root.size()) : std::string_view{};
    }
    while (path.ends_with('/')) {
        path.remove_suffix(1);
    }
    return mount_point + std::string(path);
}

// Controller (or "" for version 2) to path, out of /proc/self/cgroup.
std::map<std::string, std::string, std::less<>> parse_membership(std::string_view membership) {
    std::map<std::string, std::string, std::less<>> paths;
    for (const std::string_view line : split(membership, '\n')) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string_view::npos || second == std::string_view::npos) {
            continue;
        }
        const std::string path(line.substr(second + 1));
        for (const std::string_view name : split(line.substr(first + 1, second - first - 1), ',')) {
            paths.emplace(name, path);
        }
    }
    return paths;
}

}  // namespace

bool Hierarchy::has(std::string_view controller) const {
    return std::ranges::find(controllers, controller) != controllers.end();
}

std::vector<Hierarchy> parse_layout(std::string_view mountinfo, std::string_view membership) {
    const auto paths = parse_membership(membership);
    std::vector<Hierarchy> hierarchies;
    for (const std::string_view line : split(mountinfo, '\n')) {
        // 36 35 98:0 /root /mount/point options [fields] - type source super-options
        const std::size_t dash = line.find(" - ");
        const auto front = split(line.substr(0, dash), ' ');
        if (dash == std::string_view::npos || front.size() < 6) {
            continue;
        }
        const auto back = split(line.substr(dash + 3), ' ');
        const std::string root = decode(front[3]);
        const std::string mount_point = decode(front[4]);
        if (back.size() >= 3 && back[0] == "cgroup2") {
            if (const auto own = paths.find(""); own != paths.end()) {
                hierarchies.push_back(
                    {.version = Hierarchy::Version::Two,
                     .own_directory = visible_path(mount_point, root, own->second),
                     .mount_point = mount_point});
            }
        }
        if (back.size() < 3 || back[0] != "cgroup") {
            continue;
        }
        Hierarchy hierarchy{.version = Hierarchy::Version::One, .mount_point = mount_point};
        for (const std::string_view option : split(back[2], ',')) {
            const auto own = paths.find(option);
            if (std::ranges::find(kUsed, option) != kUsed.end() && own != paths.end()) {
                hierarchy.controllers.emplace_back(option);
                hierarchy.own_directory = visible_path(mount_point, root, own->second);
            }
        }
        if (!hierarchy.controllers.empty()) {
            hierarchies.push_back(std::move(hierarchy));
        }
    }
    return hierarchies;
}

Result<std::vector<Hierarchy>> read_layout() {
    BJ_TRY(const std::string mountinfo, read_file("/proc/self/mountinfo", kProcFileLimit));
    BJ_TRY(const std::string membership, read_file("/proc/self/cgroup", kProcFileLimit));
    std::vector<Hierarchy> hierarchies = parse_layout(mountinfo, membership);
    for (Hierarchy& hierarchy : hierarchies) {
        if (hierarchy.version == Hierarchy::Version::Two) {
            hierarchy.controllers = offered_controllers(hierarchy.own_directory);
        }
    }
    return hierarchies;
}

std::vector<std::string> offered_controllers(const std::string& directory) {
    std::vector<std::string> offered;
    const Result<std::string> text = read_file(directory + "/cgroup.controllers", kProcFileLimit);
    const std::string line = text.value_or("").substr(0, text.value_or("").find('\n'));
    for (const std::string_view name : split(line, ' ')) {
        if (std::ranges::find(kUsed, name) != kUsed.end()) {
            offered.emplace_back(name);
        }
    }
    return offered;
}

std::string_view describe_layout(const std::vector<Hierarchy>& hierarchies) {
    const auto is_one = [](const Hierarchy& hierarchy) {
        return hierarchy.version == Hierarchy::Version::One;
    };
    if (hierarchies.empty()) {
        return "none";
    }
    if (std::ranges::all_of(hierarchies, is_one)) {
        return "v1";
    }
    return std::ranges::none_of(hierarchies, is_one) ? "v2" : "hybrid";
}

}  // namespace belljar::isolation
