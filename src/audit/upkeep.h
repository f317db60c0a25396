#pragma once

#include <cstdint>
#include <string>

#include "audit/filter.h"
#include "audit/writer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

// What removes or rewrites files of the trail that do not grow any more. One process at a time does
// so, beside those who write.
namespace belljar::audit {

// Removes closed files whose last record is older than `keep`; a signed record says which, before
// they go. How many went.
[[nodiscard]] Result<std::uint64_t> remove_old_files(const Fd& directory, Writer& writer,
                                                     Duration keep);

struct ErasureOrder {
    Filter filter{};
    std::string asked_by{};  // who gave the order
    std::string reason{};    // does not name the person
};
struct ErasureReport {
    std::uint64_t records = 0;
    std::uint64_t files = 0;  // that were rewritten
};
// Takes the personal part out of every record that is meant. A signed record says which, before the
// first one is touched; one that was interrupted is completed by finish_erasure(), or before the
// next one. Closes the file that grows. Refuses a filter that means everybody.
[[nodiscard]] Result<ErasureReport> erase_records(const Fd& directory, Writer& writer,
                                                  ErasureOrder order);
// Completes what a crash has interrupted, if there is such a thing.
[[nodiscard]] Result<ErasureReport> finish_erasure(const Fd& directory, Writer& writer);

}  // namespace belljar::audit
