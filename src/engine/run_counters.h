#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/error.h"
#include "engine/admission.h"
#include "engine/durations.h"
#include "execution/request.h"
#include "execution/result.h"

namespace belljar::engine {

// How the jars that were made ahead served the runs of one language.
struct PoolFigures {
    std::size_t ready = 0;
    std::uint64_t taken = 0;   // runs that found one
    std::uint64_t missed = 0;  // runs that found none
    std::uint64_t unfit = 0;   // runs whose limits need a jar of their own
    std::uint64_t made = 0;
    std::uint64_t lost = 0;  // that could not be made or ended before a run took them
};

// Upper ends of the classes into which amounts of memory fall.
inline constexpr std::array<double, 10> kClassBytes{1e6, 5e6,   1e7, 2.5e7, 5e7,
                                                    1e8, 2.5e8, 5e8, 1e9,   4e9};

// How much of something was used, many times over.
struct Amounts {
    std::array<std::uint64_t, kClassBytes.size() + 1> classes{};
    double sum = 0;

    void add(double amount) {
        const auto* const end = std::ranges::lower_bound(kClassBytes, amount);
        ++classes[static_cast<std::size_t>(end - kClassBytes.begin())];
        sum += amount;
    }
};

// Of runs that came by MCP.
struct McpFigures {
    std::map<execution::Status, std::uint64_t> ended{};
    std::uint64_t refused = 0;
    Durations wall{};
    Amounts memory{};
};

// How the runs since the start went.
struct RunFigures {
    std::map<std::pair<std::string, execution::Status>, std::uint64_t> ended{};  // by language too
    std::map<ErrorCode, std::uint64_t> refused{};
    std::map<std::string, std::uint64_t> denials{};  // by rule
    Durations wall{};
    std::map<std::string, Durations> wall_by_language{};
    std::map<execution::Protocol, std::uint64_t> by_protocol{};  // ended or refused
    McpFigures mcp{};
    std::uint64_t output_bytes = 0;                                 // of programs, kept or not
    std::size_t sessions = 0;                                       // now
    std::array<Durations, execution::kTimingSteps.size()> steps{};  // in their order
    Admission::Figures admission{};
    std::map<std::string, PoolFigures> pools{};  // by language
};

// Counts runs. What it counts by comes out of our own lists, never out of a request, and there is a
// bound on it besides. On the I/O thread.
class RunCounters {
   public:
    void count(const execution::RunResult& result, execution::Protocol protocol);
    void count_refusal(ErrorCode code, execution::Protocol protocol);

    // Without those of admission and of jars made ahead.
    [[nodiscard]] const RunFigures& figures() const { return figures_; }

   private:
    RunFigures figures_;
};

}  // namespace belljar::engine
