#include "mcp/quote.h"

#include "base/utf8.h"

namespace belljar::mcp {
namespace {

constexpr std::size_t kLongest = 64;

}  // namespace

std::string quote(std::string_view text) {
    std::size_t end = std::min(text.size(), kLongest);
    // Step back to the start of the character that the cut would split.
    while (end < text.size() && end > 0 &&
           (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
        --end;
    }
    const std::string_view ending = end < text.size() ? "...\"" : "\"";
    return "\"" + make_valid_utf8(text.substr(0, end)) + std::string(ending);
}

}  // namespace belljar::mcp
