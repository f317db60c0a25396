#include "engine/grade.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "isolation/warden_messages.h"

namespace belljar::engine {
namespace {

using config::IsolationFloor;
using isolation::Layer;

struct KnownLayer {
    Layer layer;
    std::string_view name;
    IsolationFloor needed_for;  // the lowest grade that includes it
};

// What each grade rests on. Basic: the guest can do nothing to the kernel that it need not, and no
// file of others is in reach. Standard: it also sees nothing of the host and has bounds. Full:
// every layer that there is.
constexpr std::array<KnownLayer, 10> kLayers{
    {{Layer::NoCapabilities, "no_capabilities", IsolationFloor::Basic},
     {Layer::Seccomp, "seccomp", IsolationFloor::Basic},
     {Layer::Namespaces, "namespaces", IsolationFloor::Standard},
     {Layer::ReadOnlyRoot, "read_only_root", IsolationFloor::Standard},
     {Layer::MemoryLimit, "memory_limit", IsolationFloor::Standard},
     {Layer::ProcessLimit, "process_limit", IsolationFloor::Standard},
     {Layer::UniqueUser, "unique_user", IsolationFloor::Full},
     {Layer::Landlock, "landlock", IsolationFloor::Full},
     {Layer::DiskQuota, "disk_quota", IsolationFloor::Full},
     {Layer::CpuShare, "cpu_share", IsolationFloor::Full}}};

bool holds(std::uint32_t layers, Layer layer) { return (layers & isolation::bit(layer)) != 0; }

// Files of others are out of reach by mounts or by Landlock; without either nothing may run.
bool has_fence_around_files(std::uint32_t layers) {
    return holds(layers, Layer::Landlock) ||
           (holds(layers, Layer::Namespaces) && holds(layers, Layer::ReadOnlyRoot));
}

std::string_view name_of(IsolationFloor floor) {
    switch (floor) {
        case IsolationFloor::Basic:
            return "basic";
        case IsolationFloor::Standard:
            return "standard";
        case IsolationFloor::Full:
            return "full";
    }
    return "basic";
}

int rank_of(std::string_view grade) {
    for (const IsolationFloor floor :
         {IsolationFloor::Full, IsolationFloor::Standard, IsolationFloor::Basic}) {
        if (grade == name_of(floor)) {
            return static_cast<int>(floor);
        }
    }
    return -1;
}

}  // namespace

execution::Isolation grade_of(std::uint32_t layers, jar::Mode mode) {
    execution::Isolation isolation{
        .tier = "kernel", .mode = std::string(jar::name_of(mode)), .missing = {}};
    int rank = has_fence_around_files(layers) ? static_cast<int>(IsolationFloor::Full) : -1;
    for (const KnownLayer& known : kLayers) {
        if (!holds(layers, known.layer)) {
            isolation.missing.emplace_back(known.name);
            rank = std::min(rank, static_cast<int>(known.needed_for) - 1);
        }
    }
    isolation.grade = rank < 0 ? "none" : name_of(static_cast<IsolationFloor>(rank));
    return isolation;
}

bool is_nested(const execution::Isolation& isolation) {
    return isolation.mode == jar::name_of(jar::Mode::Nested);
}

std::vector<std::string_view> layer_names() {
    std::vector<std::string_view> names;
    for (const KnownLayer& known : kLayers) {
        names.push_back(known.name);
    }
    return names;
}

Result<void> check_floor(const execution::Isolation& isolation, IsolationFloor floor) {
    if (rank_of(isolation.grade) >= static_cast<int>(floor)) {
        return {};
    }
    return fail(
        ErrorCode::Denied,
        fmt::format("isolation.require is \"{}\", but this host gives only \"{}\"; missing: "
                    "{}. Run `belljar doctor` for what to do",
                    name_of(floor), isolation.grade, fmt::join(isolation.missing, ", ")));
}

}  // namespace belljar::engine
