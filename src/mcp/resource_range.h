#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mcp/provider.h"

namespace belljar::mcp {

// Of something long, in one read; who wants more asks for the next part.
inline constexpr std::uint64_t kMostPerRead = std::uint64_t{1024} * 1024;

// A URI of ours, which may ask for a part: `uri?offset=1000&length=100`.
struct RangedUri {
    std::string uri{};  // without the question
    std::uint64_t offset = 0;
    std::uint64_t length = kMostPerRead;  // never more
};

[[nodiscard]] RpcResult<RangedUri> parse_ranged_uri(std::string_view uri);

// A part of something that consists of bytes.
struct PartRead {
    std::string mime{};
    std::uint64_t total = 0;
    std::string bytes{};  // from the offset that was asked for
};

// The part as text, if its type and its bytes are text; a character that was cut at an end is left
// to the next part. Its `_meta` tells where it lies in the whole and how to read on.
[[nodiscard]] RpcResult<ResourceContents> make_contents(const RangedUri& asked, PartRead part);

// By its name alone: the bytes may be something else.
[[nodiscard]] bool is_text_type(std::string_view mime);

// What a reader without the right is told.
[[nodiscard]] RpcError files_right_lacking();

}  // namespace belljar::mcp
