#include "mcp/output_tail.h"

#include <algorithm>

namespace belljar::mcp {
namespace {

// The first place from here on where a character begins.
std::size_t next_character(std::string_view text, std::size_t place) {
    while (place < text.size() && (static_cast<unsigned char>(text[place]) & 0xC0U) == 0x80U) {
        ++place;
    }
    return place;
}

}  // namespace

void OutputTail::add(engine::OutputStream stream, std::string_view bytes) {
    kept_ += characters_[stream == engine::OutputStream::Stdout ? 0 : 1].take(bytes);
    // Twice as much before something goes, so that not every piece moves all of it.
    if (kept_.size() > 2 * kMostKept) {
        const std::size_t begin = next_character(kept_, kept_.size() - kMostKept);
        kept_.erase(0, begin);
        dropped_ += begin;
    }
}

OutputTail::Shown OutputTail::since(std::uint64_t position) const {
    const std::uint64_t end = dropped_ + kept_.size();
    const std::uint64_t from = std::min(position, end);
    const std::uint64_t earliest =
        std::max({from, dropped_, end - std::min<std::uint64_t>(end, kMostShown)});
    const std::size_t begin = next_character(kept_, earliest - dropped_);
    return {.text = kept_.substr(begin), .omitted = dropped_ + begin - from, .next = end};
}

}  // namespace belljar::mcp
