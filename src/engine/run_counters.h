#pragma once

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

// How the runs since the start went.
struct RunFigures {
    std::map<std::pair<std::string, execution::Status>, std::uint64_t> ended{};  // by language too
    std::map<ErrorCode, std::uint64_t> refused{};
    std::map<std::string, std::uint64_t> denials{};  // by rule
    Durations wall{};
    Admission::Figures admission{};
};

// Counts runs. What it counts by comes out of our own lists, never out of a request, and there is a
// bound on it besides. On the I/O thread.
class RunCounters {
   public:
    void count(const execution::RunResult& result);
    void count_refusal(ErrorCode code) { ++figures_.refused[code]; }

    // Without those of admission.
    [[nodiscard]] const RunFigures& figures() const { return figures_; }

   private:
    RunFigures figures_;
};

}  // namespace belljar::engine
