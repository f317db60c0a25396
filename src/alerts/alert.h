#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "alerts/rule.h"
#include "base/json.h"
#include "execution/governance.h"

namespace belljar::alerts {

// That a rule has something to say. Of the event that was one too many, without what a guest wrote.
struct Alert {
    std::string id{};
    std::chrono::system_clock::time_point time{};
    Rule rule{};
    std::uint64_t events = 0;                // since the last alert of this rule about the same one
    std::optional<std::string> principal{};  // none: it is about the server, or an address
    std::string address{};
    execution::SecurityEvent event{};
    std::vector<std::string> done{};  // sentences: what was done by itself
};

// As operators, webhooks and watchers get it.
[[nodiscard]] json::object to_json(const Alert& alert);

}  // namespace belljar::alerts
