#include "engine/turnover.h"

#include <algorithm>
#include <cmath>

namespace belljar::engine {
namespace {

constexpr double kShortest = 1;
constexpr double kLongest = 60;
constexpr int kRecentRuns = 8;

}  // namespace

void Turnover::ended(Duration taken) {
    mean_ = mean_ ? *mean_ + (taken - *mean_) / kRecentRuns : taken;
}

std::chrono::seconds Turnover::time_for(Queue queue, TimePoint now) const {
    // Those that run now may be longer than all before them: none has made place since then.
    const Duration pause = now - last_beginning_;
    const double each = to_seconds(std::max(mean_.value_or(Duration{}), pause));
    const double all = each * static_cast<double>(queue.runs) / static_cast<double>(queue.places);
    return std::chrono::seconds(std::lround(std::ceil(std::clamp(all, kShortest, kLongest))));
}

}  // namespace belljar::engine
