#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "execution/result.h"

namespace belljar::engine {

// Upper ends of the classes into which runs fall by their wall time; a last class is without end.
inline constexpr std::array<double, 12> kRunSeconds{0.01, 0.05, 0.1, 0.25, 0.5, 1,
                                                    2.5,  5,    10,  30,   60,  300};

// How the runs since the start went.
struct RunFigures {
    std::map<std::pair<std::string, execution::Status>, std::uint64_t> ended{};  // by language too
    std::map<ErrorCode, std::uint64_t> refused{};
    std::map<std::string, std::uint64_t> denials{};  // by rule
    std::array<std::uint64_t, kRunSeconds.size() + 1> durations{};
    Duration wall{};  // of all together
    std::size_t running = 0;
    std::size_t waiting = 0;
};

// Counts runs. What it counts by comes out of our own lists, never out of a request, and there is a
// bound on it besides. On the I/O thread.
class RunCounters {
   public:
    void count(const execution::RunResult& result);
    void count_refusal(ErrorCode code) { ++figures_.refused[code]; }

    // Without those that run and wait now.
    [[nodiscard]] const RunFigures& figures() const { return figures_; }

   private:
    RunFigures figures_;
};

}  // namespace belljar::engine
