#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "base/json.h"
#include "mcp/json_rpc.h"

namespace belljar::mcp {

// What a state belongs to: with anything else it is refused.
struct StateBinding {
    std::string principal{};
    std::string method{};
    std::string params{};  // what was asked for, as JSON
};

// Hands a handler's state to a client and takes it back. The client can keep it, nothing else: it
// is signed, bound to its caller and its request, used once, and of no use after a while. Used on
// the I/O thread only.
class RequestStates {
   public:
    using Clock = std::chrono::system_clock;
    static constexpr auto kLifetime = std::chrono::minutes(15);
    // Of states that were used and not forgotten yet. Beyond it none is taken.
    static constexpr std::size_t kMostUsed = 65536;

    RequestStates();

    [[nodiscard]] std::string seal(const json::value& state, const StateBinding& binding,
                                   Clock::time_point now) const;
    // The state, once.
    [[nodiscard]] RpcResult<json::value> open(std::string_view sealed, const StateBinding& binding,
                                              Clock::time_point now);

   private:
    [[nodiscard]] std::string sign(std::string_view body, const StateBinding& binding) const;

    std::string key_;                                // of this process, never stored
    std::map<std::string, Clock::time_point> used_;  // until when each has to be remembered
};

}  // namespace belljar::mcp
