#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace belljar::crypto {

// Hides a text from whoever has not got the key (32 bytes), and shows whether it was changed:
// AES-256-GCM with a random nonce in front. Two seals of one text differ.
[[nodiscard]] std::string seal(std::string_view key, std::string_view text);
// Nothing if it was not sealed with this key, or was changed.
[[nodiscard]] std::optional<std::string> unseal(std::string_view key, std::string_view sealed);

}  // namespace belljar::crypto
