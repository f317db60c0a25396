#pragma once

#include <cstddef>
#include <string>

#include "execution/result.h"

namespace belljar::engine {

inline constexpr std::size_t kLongestResult = std::size_t{256} * 1024;

// The result record as it is remembered: whole if it is not too long, or else without its outputs
// and with its longest parts shortened, which "record_shortened" lists.
[[nodiscard]] std::string remembered_text(const execution::RunResult& result,
                                          std::size_t longest = kLongestResult);

}  // namespace belljar::engine
