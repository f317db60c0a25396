#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace belljar::config {

// Text from outside as it may stand in a message: in quotes, on one line, shortened, valid UTF-8.
[[nodiscard]] std::string quoted(std::string_view text);

// "a, b, c"
[[nodiscard]] std::string joined(const std::vector<std::string_view>& words);

// Collects what is wrong with a configuration, so that one start shows all of it. Beyond the first
// few, problems are only counted.
class Problems {
   public:
    static constexpr std::size_t kShown = 20;

    void add(std::string problem);
    // Ask before wording a problem is costly; then add("") counts it.
    [[nodiscard]] bool full() const { return shown_.size() >= kShown; }
    [[nodiscard]] bool empty() const { return shown_.empty(); }
    // One problem per line.
    [[nodiscard]] Error to_error() const;

   private:
    std::vector<std::string> shown_;
    std::size_t further_ = 0;
};

}  // namespace belljar::config
