#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "engine/executor.h"

namespace belljar::engine {

// Programs that a person has approved, by the digest of their text. Kept in memory: an approval is
// for now, and ends with the server at the latest. On the I/O thread.
class Approvals {
   public:
    using Time = std::chrono::system_clock::time_point;
    static constexpr std::size_t kMost = 1024;
    static constexpr auto kLongest = std::chrono::hours(24);

    Result<void> add(Approval approval, Time now);
    // Who has approved it, if somebody has.
    [[nodiscard]] std::optional<std::string> approver_of(const std::string& code_sha256,
                                                         Time now) const;

   private:
    struct Entry {
        std::string approver{};
        Time until{};
    };

    std::map<std::string, Entry> entries_;
};

}  // namespace belljar::engine
