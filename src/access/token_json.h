#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "access/token_book.h"
#include "base/result.h"

namespace belljar::access {

// tokens.json as text and back. Whatever is not exactly of that form is refused as a whole.
[[nodiscard]] std::string tokens_to_text(const std::vector<TokenRecord>& records);
[[nodiscard]] Result<std::vector<TokenRecord>> tokens_from_text(std::string_view text);

}  // namespace belljar::access
