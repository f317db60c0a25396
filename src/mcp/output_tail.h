#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/utf8_stream.h"
#include "engine/run_watch.h"

namespace belljar::mcp {

// The last part of what a run has written to both streams, as text and in the order it came.
// Positions are bytes of that text from its beginning.
class OutputTail {
   public:
    static constexpr std::size_t kMostKept = std::size_t{64} * 1024;
    // In one look at it.
    static constexpr std::size_t kMostShown = std::size_t{16} * 1024;

    struct Shown {
        std::string text{};
        std::uint64_t omitted = 0;  // between the position asked for and the text
        std::uint64_t next = 0;     // where to go on
    };

    void add(engine::OutputStream stream, std::string_view bytes);
    // What follows the position: the end of it, if it is too much.
    [[nodiscard]] Shown since(std::uint64_t position) const;

   private:
    std::array<Utf8Stream, 2> characters_;
    std::string kept_;
    std::uint64_t dropped_ = 0;  // before it
};

}  // namespace belljar::mcp
