#include "host/kernel_file.h"

#include <charconv>

#include "base/fd.h"

namespace belljar::host {
namespace {

constexpr Bytes kLimit = mebibytes(8);
constexpr std::string_view kBlanks = " \t\n";

}  // namespace

std::optional<std::string> read_text(const std::string& path) {
    Result<std::string> text = read_file(path, kLimit);
    if (!text) {
        return std::nullopt;
    }
    return std::move(*text);
}

std::optional<std::string> read_value(const std::string& path) {
    const std::optional<std::string> text = read_text(path);
    return text ? std::optional<std::string>(trimmed(*text)) : std::nullopt;
}

std::optional<std::int64_t> read_number(const std::string& path) {
    const std::optional<std::string> text = read_value(path);
    return text ? number_of(*text) : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
        const std::size_t length = std::min(text.find_first_of(kBlanks), text.size());
        words.emplace_back(text.substr(0, length));
        text.remove_prefix(length);
    }
    return words;
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t length = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, length));
        text.remove_prefix(std::min(length + 1, text.size()));
    }
    return lines;
}

std::optional<std::int64_t> number_of(std::string_view text) {
    std::int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || rest != end) {
        return std::nullopt;
    }
    return number;
}

}  // namespace belljar::host
