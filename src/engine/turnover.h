#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "base/clock.h"

namespace belljar::engine {

// How fast places become free, so that whoever is refused can be told when to try again.
class Turnover {
   public:
    struct Queue {
        std::size_t runs = 0;
        std::size_t places = 1;
    };

    void began(TimePoint now) { last_beginning_ = now; }
    void ended(Duration taken);

    // When the runs of a full queue will have had their turn: a guess, between one second and a
    // minute.
    [[nodiscard]] std::chrono::seconds time_for(Queue queue, TimePoint now) const;

   private:
    std::optional<Duration> mean_;  // of the recent runs
    TimePoint last_beginning_{};
};

}  // namespace belljar::engine
