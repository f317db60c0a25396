#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/error.h"
#include "engine/admission.h"
#include "engine/durations.h"
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

// How the runs since the start went.
struct RunFigures {
    std::map<std::pair<std::string, execution::Status>, std::uint64_t> ended{};  // by language too
    std::map<ErrorCode, std::uint64_t> refused{};
    std::map<std::string, std::uint64_t> denials{};  // by rule
    Durations wall{};
    std::array<Durations, execution::kTimingSteps.size()> steps{};  // in their order
    Admission::Figures admission{};
    std::map<std::string, PoolFigures> pools{};  // by language
};

// Counts runs. What it counts by comes out of our own lists, never out of a request, and there is a
// bound on it besides. On the I/O thread.
class RunCounters {
   public:
    void count(const execution::RunResult& result);
    void count_refusal(ErrorCode code) { ++figures_.refused[code]; }

    // Without those of admission and of jars made ahead.
    [[nodiscard]] const RunFigures& figures() const { return figures_; }

   private:
    RunFigures figures_;
};

}  // namespace belljar::engine
