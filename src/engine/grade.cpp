#include "engine/grade.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

constexpr std::array<KnownLayer, 7> kLayers{
    {{Layer::Namespaces, "namespaces", IsolationFloor::Basic},
     {Layer::NoCapabilities, "no_capabilities", IsolationFloor::Basic},
     {Layer::ReadOnlyRoot, "read_only_root", IsolationFloor::Basic},
     {Layer::UniqueUser, "unique_user", IsolationFloor::Standard},
     {Layer::MemoryLimit, "memory_limit", IsolationFloor::Standard},
     {Layer::ProcessLimit, "process_limit", IsolationFloor::Standard},
     {Layer::CpuShare, "cpu_share", IsolationFloor::Full}}};

// Layers that full isolation includes and that jars do not have.
constexpr std::array<std::string_view, 2> kAbsent{"seccomp", "landlock"};

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

execution::Isolation grade_of(std::uint32_t layers) {
    execution::Isolation isolation{.grade = "standard", .tier = "kernel"};
    for (const KnownLayer& known : kLayers) {
        if ((layers & static_cast<std::uint32_t>(known.layer)) != 0) {
            continue;
        }
        isolation.missing.emplace_back(known.name);
        if (known.needed_for == IsolationFloor::Basic) {
            isolation.grade = "none";
        } else if (known.needed_for == IsolationFloor::Standard && isolation.grade != "none") {
            isolation.grade = "basic";
        }
    }
    isolation.missing.insert(isolation.missing.end(), kAbsent.begin(), kAbsent.end());
    return isolation;
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
