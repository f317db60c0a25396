#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace belljar::alerts {

using WallTime = std::chrono::system_clock::time_point;

// A principal that may run nothing for a while.
struct Block {
    std::string principal{};
    WallTime since{};
    WallTime until{};
    std::string reason{};  // a sentence for operators

    bool operator==(const Block&) const = default;
};

// A conversation that nobody may use until somebody lifts it.
struct Quarantine {
    std::string principal{};
    std::string conversation_id{};
    WallTime since{};
    std::string reason{};

    bool operator==(const Quarantine&) const = default;
};

// Who and what is held. Bounded: beyond that the oldest block ends early, and a quarantine is
// refused. On one thread.
class Holds {
   public:
    static constexpr std::size_t kMost = 4096;  // of each

    // A longer block stays as it is.
    void block(Block block);
    // Overloaded if there are as many as there may be.
    Result<void> quarantine(Quarantine quarantine);
    // NotFound if there is no such thing.
    Result<void> lift_block(const std::string& principal, WallTime now);
    Result<void> lift_quarantine(const std::string& principal, const std::string& conversation_id);

    [[nodiscard]] std::optional<Block> block_of(const std::string& principal, WallTime now) const;
    [[nodiscard]] bool is_quarantined(const std::string& principal,
                                      const std::string& conversation_id) const;
    // Those that are in force, sorted by name.
    [[nodiscard]] std::vector<Block> blocks(WallTime now) const;
    [[nodiscard]] std::vector<Quarantine> quarantines() const;

    // To be kept over a restart, with the grade of isolation that was last seen.
    std::string grade{};
    [[nodiscard]] std::string to_text(WallTime now) const;
    static Result<Holds> parse(std::string_view text);

   private:
    std::map<std::string, Block> blocks_;
    std::map<std::pair<std::string, std::string>, Quarantine> quarantines_;
};

}  // namespace belljar::alerts
