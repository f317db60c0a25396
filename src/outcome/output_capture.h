#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "execution/result.h"

namespace belljar::outcome {

// Keeps the beginning and the end of a stream within `limit` bytes and counts all of it. Memory use
// is bounded by the limit, however much is written.
class OutputCapture {
   public:
    explicit OutputCapture(Bytes limit);

    void append(std::string_view data);
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    // Whether nothing was dropped yet, nor would be with that many bytes more.
    [[nodiscard]] bool is_whole_with(std::size_t more) const {
        return bytes_ + more <= head_limit_ + tail_limit_;
    }
    // As long as nothing was dropped: everything, in two parts.
    [[nodiscard]] std::array<std::string_view, 2> whole() const { return {head_, tail_}; }

    // The whole stream, or its beginning and end with a line between them that says how much is
    // missing. Cuts fall between UTF-8 characters.
    [[nodiscard]] execution::CapturedStream finish() const;

   private:
    std::size_t head_limit_;
    std::size_t tail_limit_;
    std::string head_;
    std::string tail_;  // a ring once full
    std::size_t tail_start_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace belljar::outcome
