#include "engine/run_counters.h"

namespace belljar::engine {
namespace {

// Far more than there are; should a rule ever be named after what a guest did, its name ends here.
constexpr std::size_t kMostRules = 256;
constexpr const char* kOtherRules = "other";

}  // namespace

void RunCounters::count(const execution::RunResult& result, execution::Protocol protocol) {
    ++figures_.ended[{result.language, result.status}];
    figures_.wall.add(result.usage.wall);
    figures_.wall_by_language[result.language].add(result.usage.wall);
    ++figures_.by_protocol[protocol];
    if (protocol == execution::Protocol::Mcp) {
        ++figures_.mcp.ended[result.status];
        figures_.mcp.wall.add(result.usage.wall);
        figures_.mcp.memory.add(static_cast<double>(result.usage.memory_peak_bytes));
    }
    figures_.output_bytes += result.stdout_stream.bytes + result.stderr_stream.bytes;
    for (std::size_t index = 0; index < execution::kTimingSteps.size(); ++index) {
        figures_.steps.at(index).add(result.timing.*execution::kTimingSteps.at(index).time);
    }
    for (const execution::Denial& denial : result.denials) {
        const bool room =
            figures_.denials.size() < kMostRules || figures_.denials.contains(denial.rule);
        ++figures_.denials[room ? denial.rule : kOtherRules];
    }
}

void RunCounters::count_refusal(ErrorCode code, execution::Protocol protocol) {
    ++figures_.refused[code];
    ++figures_.by_protocol[protocol];
    if (protocol == execution::Protocol::Mcp) {
        ++figures_.mcp.refused;
    }
}

}  // namespace belljar::engine
