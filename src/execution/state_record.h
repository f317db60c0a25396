#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "execution/conversation.h"

namespace belljar::execution {

// For what never expires.
inline constexpr WallTime kNever = WallTime::max();

// A request that its caller may send again without its being done twice.
struct RepeatKey {
    std::string principal{};
    std::string key{};     // as its caller chose it
    std::string digest{};  // of what was asked: the same key for something else is a mistake
};

// An answer that is given again.
struct StoredAnswer {
    unsigned status = 0;
    std::map<std::string, std::string> headers{};
    std::string body{};
};

// What is known about a key that somebody wants to use.
struct RepeatClaim {
    enum class Kind {
        Fresh,       // the caller of claim() has it now, and has to settle or release it
        InProgress,  // the first request is not answered yet
        Answered,
        Forgotten,  // answered, and the answer is no longer kept
        Different,  // was used for another request
    };

    Kind kind = Kind::Fresh;
    std::optional<StoredAnswer> answer{};
};

// What a principal has used on one day (UTC).
struct DailyUsage {
    std::string principal{};
    std::string day{};  // 2026-01-31
    std::uint64_t runs = 0;
    Duration cpu{};
};

struct UsageQuery {
    std::optional<std::string> principal{};  // nothing: everybody's
    std::string from{};                      // days, both included; empty: any
    std::string to{};
    std::size_t limit = 1000;
};

}  // namespace belljar::execution
