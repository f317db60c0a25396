#include "privacy/context.h"

#include <algorithm>
#include <array>

namespace belljar::privacy {
namespace {

constexpr std::size_t kLongestGap = 8;
constexpr int kMostFillers = 2;  // "number is"
constexpr std::array<std::string_view, 8> kFillers{"number", "no", "nr",  "num",
                                                   "is",     "at", "was", "line"};

std::string_view without_gap(std::string_view text) {
    for (std::size_t gone = 0;
         gone < kLongestGap && !text.empty() && is(text.back(), kGap | kUnderscore); ++gone) {
        text.remove_suffix(1);
    }
    return text;
}

}  // namespace

bool ends_with_word(std::string_view text, std::string_view word) {
    if (text.size() < word.size()) {
        return false;
    }
    const std::string_view end = text.substr(text.size() - word.size());
    const bool equal =
        std::ranges::equal(end, word, [](char left, char right) { return lower(left) == right; });
    return equal &&
           (text.size() == word.size() || !is(text[text.size() - word.size() - 1], kLetter));
}

bool is_announced(const Text& text, std::size_t place, std::span<const std::string_view> words) {
    std::string_view left = without_gap(text.look_behind(place));
    for (int count = 0; count < kMostFillers; ++count) {
        if (left.empty() || !is(left.back(), kLetter)) {
            return false;
        }
        const auto* const filler = std::ranges::find_if(
            kFillers, [left](std::string_view word) { return ends_with_word(left, word); });
        if (filler == kFillers.end()) {
            break;
        }
        left.remove_suffix(filler->size());
        left = without_gap(left);
    }
    return std::ranges::any_of(
        words, [left](std::string_view word) { return ends_with_word(left, word); });
}

}  // namespace belljar::privacy
