#include "config/toml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/utf8.h"

namespace belljar::config {
namespace {

// toml++ frees nested tables by recursion, and a dotted key nests as deep as it has dots; a line
// full of them would overflow the stack. No key of the schema has more than one.
constexpr std::size_t kMaximumDotsPerLine = 32;

// Some editors put it at the start of a file.
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// The code point of one valid UTF-8 character of more than one byte.
std::uint32_t code_point(std::string_view character) {
    constexpr unsigned kPayloadBits = 6;
    const unsigned lead_mask = 0x7fU >> character.size();
    std::uint32_t result = static_cast<unsigned char>(character.front()) & lead_mask;
    for (const char byte : character.substr(1)) {
        result = (result << kPayloadBits) | (static_cast<unsigned char>(byte) & 0x3fU);
    }
    return result;
}

// Copies one line, character by character.
class LineCopy {
   public:
    explicit LineCopy(std::string_view line) : rest_(line) {}

    Result<std::string> run() {
        while (!rest_.empty()) {
            if (quote_ == '\0' && rest_.front() == '#') {
                break;
            }
            const std::size_t length = utf8_character_length(rest_);
            if (length == 0 || rest_.front() == '\0') {
                return refuse("the line contains a NUL byte or is not UTF-8");
            }
            if (length > 1) {
                BJ_TRY_VOID(copy_escaped(length));
            } else if (quote_ == '\0') {
                BJ_TRY_VOID(copy_outside_quotes());
            } else {
                BJ_TRY_VOID(copy_inside_quotes());
            }
        }
        if (quote_ != '\0') {
            return refuse("the text in quotes does not end on its line");
        }
        return std::move(copy_);
    }

   private:
    static std::unexpected<Error> refuse(std::string message) {
        return fail(ErrorCode::InvalidArgument, std::move(message));
    }

    // toml++ 3.3 runs into undefined behaviour when it meets some of these outside of quotes, also
    // where only a mistake in the file puts them there; so it gets to see none.
    Result<void> copy_escaped(std::size_t length) {
        if (quote_ != '"') {
            return refuse("a character outside of ASCII must stand in double quotes");
        }
        fmt::format_to(std::back_inserter(copy_), "\\U{:08X}", code_point(rest_.substr(0, length)));
        rest_.remove_prefix(length);
        return {};
    }

    Result<void> copy_outside_quotes() {
        if (rest_.starts_with("\"\"\"") || rest_.starts_with("'''")) {
            return refuse("text over several lines is not allowed for any key");
        }
        const char letter = rest_.front();
        dots_ += letter == '.' ? 1 : 0;
        if (dots_ > kMaximumDotsPerLine) {
            return refuse("too many dots; a key is written as section.key");
        }
        quote_ = letter == '"' || letter == '\'' ? letter : '\0';
        copy_characters(1);
        return {};
    }

    Result<void> copy_inside_quotes() {
        const char letter = rest_.front();
        if (letter != '\\' || quote_ == '\'') {
            quote_ = letter == quote_ ? '\0' : quote_;
            copy_characters(1);
            return {};
        }
        if (rest_.size() > 1 && static_cast<unsigned char>(rest_[1]) > 0x7f) {
            return refuse("a backslash must not stand before a character outside of ASCII");
        }
        copy_characters(2);
        return {};
    }

    void copy_characters(std::size_t count) {
        copy_ += rest_.substr(0, count);
        rest_.remove_prefix(std::min(count, rest_.size()));
    }

    std::string_view rest_;
    std::string copy_{};
    std::size_t dots_ = 0;
    char quote_ = '\0';  // the mark that ends the text we are in
};

}  // namespace

Result<std::string> prepare_toml(std::string_view text, const std::string& file_name) {
    if (text.starts_with(kByteOrderMark)) {
        text.remove_prefix(kByteOrderMark.size());
    }
    std::string copy;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const Result<std::string> line = LineCopy(text.substr(0, end)).run();
        if (!line) {
            return fail(ErrorCode::InvalidArgument,
                        fmt::format("{}:{}: {}", file_name, number, line.error().message));
        }
        copy += *line;
        copy += '\n';
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return copy;
}

}  // namespace belljar::config
