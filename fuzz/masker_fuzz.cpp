// Any text at all, cut anywhere: what comes out is the same, little waits, and stars keep places.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "privacy/masker.h"

using belljar::privacy::Fill;
using belljar::privacy::Masker;
using belljar::privacy::TypeSet;

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

std::string mask_in_pieces(Masker& masker, std::string_view text, std::size_t first,
                           std::size_t length) {
    std::string out = masker.feed(text.substr(0, first));
    for (text.remove_prefix(first); !text.empty();) {
        const std::string_view piece = text.substr(0, length);
        out += masker.feed(piece);
        require(masker.held() <= Masker::kMostHeld);
        text.remove_prefix(piece.size());
    }
    out += masker.finish();
    require(masker.held() == 0);
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const TypeSet types(data[0] == 0 ? 0xff : data[0]);
    const std::size_t length = 1 + data[1] % 16;
    const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
    belljar::privacy::Counts counts{};
    const std::string whole = belljar::privacy::mask(text, types, counts);
    require(belljar::make_valid_utf8(text) != text || belljar::make_valid_utf8(whole) == whole);

    Masker pieces(types);
    require(mask_in_pieces(pieces, text, 0, length) == whole);
    require(pieces.counts() == counts);
    Masker stars(types, Fill::Stars);
    require(mask_in_pieces(stars, text, 0, text.size()).size() == text.size());
    for (std::size_t cut = 0; cut <= text.size() && text.size() <= 128; ++cut) {
        Masker two(types);
        require(mask_in_pieces(two, text, cut, text.size()) == whole);
    }
    return 0;
}
