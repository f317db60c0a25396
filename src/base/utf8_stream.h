#pragma once

#include <string>
#include <string_view>

namespace belljar {

// Bytes that come in pieces, as text that can be shown piece by piece. A character that is not
// complete yet is held back; what is not UTF-8 becomes U+FFFD, byte by byte. All pieces together
// are what make_valid_utf8() makes of all bytes together.
class Utf8Stream {
   public:
    [[nodiscard]] std::string take(std::string_view bytes);
    // What was held back, now that nothing follows.
    [[nodiscard]] std::string finish();

   private:
    std::string held_;  // at most three bytes
};

}  // namespace belljar
