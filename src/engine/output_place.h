#pragma once

#include <optional>
#include <string>

#include "base/log.h"
#include "engine/guest_io.h"
#include "storage/output_store.h"

namespace belljar::engine {

// Where streams are kept whole that are too long for the result, and what they are called there:
// the two texts around an execution id.
struct OutputPlace {
    storage::OutputStore* store = nullptr;  // outlives who uses it; nullptr: nowhere
    std::string uri_before{};
    std::string uri_after{};
};

// Keeps what was recorded of a run, and says where; nothing if there was nothing to keep.
[[nodiscard]] std::optional<std::string> publish_output(const OutputPlace& place, GuestIo& io,
                                                        const std::string& execution_id,
                                                        const Log& log);

}  // namespace belljar::engine
