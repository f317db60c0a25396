#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace belljar::transport {

struct HeadLimits {
    Bytes size = kibibytes(32);  // of everything before the body
    std::size_t headers = 100;
    Bytes request_line = kibibytes(16);
};

// What is wrong with the head of a request, and what to answer. The connection is closed then:
// where the next request would begin is not certain.
struct HeadFault {
    unsigned status = 400;
    std::string message{};
};

// Where the head ends: the place after the empty line. Nothing if it is not all there.
[[nodiscard]] std::optional<std::size_t> find_end_of_head(std::string_view bytes);

// Whether the bytes so far cannot become a valid head, whatever follows: waiting for the rest would
// be in vain.
[[nodiscard]] std::optional<HeadFault> find_early_fault(std::string_view bytes,
                                                        const HeadLimits& limits);

// Stricter than HTTP asks for where two readers of one request might disagree, because a proxy may
// stand before us: exactly one length or one chunked encoding, line ends of CR and LF, no folded
// lines, no space around names, targets that are paths.
[[nodiscard]] std::optional<HeadFault> find_fault(std::string_view head, const HeadLimits& limits);

}  // namespace belljar::transport
