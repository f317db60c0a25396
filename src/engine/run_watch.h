#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "execution/result.h"

namespace belljar::engine {

using execution::OutputStream;

// A run that has got its place.
struct RunStart {
    std::string execution_id{};
    std::string language{};
};

// For a caller that watches a run. Called on the I/O thread; may neither block nor throw.
struct RunWatch {
    std::function<void(const RunStart&)> on_start{};  // once; not if the run is refused before
    // Bytes as they come: a piece may end inside a character.
    std::function<void(OutputStream, std::string_view)> on_output{};
};

}  // namespace belljar::engine
