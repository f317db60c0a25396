#include "engine/run_counters.h"

#include <algorithm>

namespace belljar::engine {
namespace {

// Far more than there are; should a rule ever be named after what a guest did, its name ends here.
constexpr std::size_t kMostRules = 256;
constexpr const char* kOtherRules = "other";

}  // namespace

void RunCounters::count(const execution::RunResult& result) {
    ++figures_.ended[{result.language, result.status}];
    const auto end = std::ranges::lower_bound(kRunSeconds, to_seconds(result.usage.wall));
    ++figures_.durations[static_cast<std::size_t>(end - kRunSeconds.begin())];
    figures_.wall += result.usage.wall;
    for (const execution::Denial& denial : result.denials) {
        const bool room =
            figures_.denials.size() < kMostRules || figures_.denials.contains(denial.rule);
        ++figures_.denials[room ? denial.rule : kOtherRules];
    }
}

}  // namespace belljar::engine
