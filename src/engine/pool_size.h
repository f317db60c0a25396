#pragma once

#include <algorithm>
#include <cstddef>

namespace belljar::engine {

// How many jars should be ready for one language: doubled when a run finds none, one fewer after
// each period in which there was always one to spare. Between two bounds.
class PoolSize {
   public:
    PoolSize(std::size_t least, std::size_t most)
        : least_(std::min(least, most)), most_(most), wanted_(least_) {}

    [[nodiscard]] std::size_t wanted() const { return wanted_; }
    [[nodiscard]] std::size_t least() const { return least_; }

    // A run took one, and so many are left.
    void on_take(std::size_t left) { fewest_ = std::min(fewest_, left); }

    // A run found none.
    void on_miss() {
        wanted_ = std::clamp<std::size_t>(wanted_ * 2, 1, most_);
        fewest_ = 0;
    }

    // A period is over, and so many are ready for the next.
    void on_period(std::size_t ready) {
        if (fewest_ > 0 && wanted_ > least_) {
            --wanted_;
        }
        fewest_ = ready;
    }

   private:
    std::size_t least_;
    std::size_t most_;
    std::size_t wanted_;
    std::size_t fewest_ = 0;  // that were ready at any time of this period
};

}  // namespace belljar::engine
