#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Small text files of /proc and /sys.
namespace belljar::host {

// The whole text, or nothing if the file is not there or not readable.
[[nodiscard]] std::optional<std::string> read_text(const std::string& path);
// The same without the blanks and newlines at its ends.
[[nodiscard]] std::optional<std::string> read_value(const std::string& path);
[[nodiscard]] std::optional<std::int64_t> read_number(const std::string& path);

[[nodiscard]] std::string_view trimmed(std::string_view text);
// The words between blanks, tabs and newlines.
[[nodiscard]] std::vector<std::string> words_of(std::string_view text);
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);
// Nothing unless all of `text` is one decimal number.
[[nodiscard]] std::optional<std::int64_t> number_of(std::string_view text);

}  // namespace belljar::host
