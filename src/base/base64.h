#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace belljar {

// Standard alphabet with padding (RFC 4648 section 4); anything else is refused.
[[nodiscard]] Result<std::string> decode_base64(std::string_view text);
[[nodiscard]] std::string encode_base64(std::string_view data);
// The alphabet for addresses and file names without padding (section 5), as JOSE writes it;
// anything else is refused.
[[nodiscard]] Result<std::string> decode_base64url(std::string_view text);

}  // namespace belljar
