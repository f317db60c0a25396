#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

// How much a conversation has, written down beside it, so that what a principal has can be added up
// without looking at every file. Files change only under the principal's lock, and so do tallies.
namespace belljar::storage {

struct Tally {
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;
    std::uint64_t entries = 0;  // files and directories

    bool operator==(const Tally&) const = default;
};

// Of one principal's directory; held as long as the descriptor is open. Conflict if it cannot be
// had in time.
[[nodiscard]] Result<Fd> lock_principal(const Fd& owner, TimePoint deadline);

// Nothing if it was never written, or a change has begun and has not ended.
[[nodiscard]] std::optional<Tally> read_tally(const Fd& conversation);
// Before a change: whoever finds it so counts again.
Result<void> begin_tally(const Fd& conversation);
void write_tally(const Fd& conversation, const Tally& tally);

// What the conversation really has.
[[nodiscard]] Result<Tally> count_files(const Fd& conversation);

// Of all conversations of a principal but one; counts where nothing is written down.
[[nodiscard]] Tally tally_others(const Fd& owner, const std::string& except);

}  // namespace belljar::storage
