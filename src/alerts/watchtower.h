#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "alerts/alert.h"
#include "alerts/event_window.h"
#include "alerts/rule.h"
#include "base/clock.h"

namespace belljar::alerts {

// Counts events by the rules and says which alerts are due. Remembers the last alerts. On one
// thread; bounded whatever events come.
class Watchtower {
   public:
    explicit Watchtower(Rules rules);

    // Rules that stay as they were go on counting.
    void set_rules(Rules rules);
    [[nodiscard]] Rules rules() const;

    // Usually none. The caller adds what it does about them and hands them to remember().
    [[nodiscard]] std::vector<Alert> take(const execution::SecurityEvent& event, TimePoint now);
    void remember(Alert alert);

    // The newest last.
    [[nodiscard]] const std::deque<Alert>& recent() const { return recent_; }

   private:
    struct Watch {
        Rule rule{};
        EventWindow window;
    };

    std::vector<Watch> watches_;
    std::deque<Alert> recent_;
};

}  // namespace belljar::alerts
