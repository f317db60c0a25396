#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/result.h"

namespace belljar::audit {

inline constexpr Bytes kLongestLine = mebibytes(64);

// The lines of a file, one after the other, in bounded memory. Borrows the file.
class LineReader {
   public:
    LineReader(const Fd& file, std::uint64_t offset) : file_(file), offset_(offset) {}

    // Torn: what comes after the last line break.
    enum class State { Whole, Torn, End };
    struct Line {
        State state = State::End;
        std::string_view text{};  // without the line break, until the next call
    };
    // TooLarge for a line that no trail can have.
    [[nodiscard]] Result<Line> next();

   private:
    const Fd& file_;
    std::uint64_t offset_;
    std::string buffer_;
    std::size_t begin_ = 0;
};

// The same from the end of the part before `end` to the beginning; everything that comes after the
// last line break there is left out.
class BackwardLineReader {
   public:
    BackwardLineReader(const Fd& file, std::uint64_t end) : file_(file), offset_(end) {}

    // False at the beginning.
    [[nodiscard]] Result<bool> next(std::string& line);

   private:
    const Fd& file_;
    std::uint64_t offset_;
    std::string buffer_;
    bool inside_ = false;  // whether the buffer ends with a line break
};

}  // namespace belljar::audit
