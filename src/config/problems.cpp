#include "config/problems.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "base/utf8.h"

namespace belljar::config {
namespace {

constexpr std::size_t kMaximumQuotedLength = 80;

}  // namespace

std::string quoted(std::string_view text) {
    std::string result = "\"";
    std::string_view rest = text;
    while (!rest.empty() && text.size() - rest.size() < kMaximumQuotedLength) {
        const std::size_t length = utf8_character_length(rest);
        const auto byte = static_cast<unsigned char>(rest.front());
        if (length == 0 || byte < 0x20 || byte == 0x7f) {
            fmt::format_to(std::back_inserter(result), "\\x{:02x}", byte);
        } else {
            result += rest.substr(0, length);
        }
        rest.remove_prefix(length == 0 ? 1 : length);
    }
    result += rest.empty() ? "\"" : "...\"";
    return result;
}

std::string joined(const std::vector<std::string_view>& words) {
    return fmt::format("{}", fmt::join(words, ", "));
}

void Problems::add(std::string problem) {
    if (full()) {
        ++further_;
        return;
    }
    shown_.push_back(std::move(problem));
}

Error Problems::to_error() const {
    std::string message = fmt::format("{}", fmt::join(shown_, "\n"));
    if (further_ > 0) {
        message += fmt::format("\nand {} more", further_);
    }
    return Error{.code = ErrorCode::InvalidArgument, .message = std::move(message)};
}

}  // namespace belljar::config
