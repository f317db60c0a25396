#include "base/json_text.h"

#include <array>
#include <charconv>

namespace belljar {
namespace {

// What stands for a letter behind the backslash; 0: the letter itself goes without one.
char escape_of(char letter) {
    switch (letter) {
        case '"':
        case '\\':
            return letter;
        case '\b':
            return 'b';
        case '\f':
            return 'f';
        case '\n':
            return 'n';
        case '\r':
            return 'r';
        case '\t':
            return 't';
        default:
            return static_cast<unsigned char>(letter) < 0x20 ? 'u' : '\0';
    }
}

template <typename Number>
void append_number(std::string& text, Number number) {
    std::array<char, 24> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    text.append(digits.data(), end);
}

}  // namespace

JsonText::JsonText(std::initializer_list<std::pair<json::string_view, json::value_ref>> members)
    : text_(to_text(json::object(members))) {
    text_.pop_back();
}

void JsonText::separate() {
    if (text_.back() != '{' && text_.back() != '[') {
        text_ += ',';
    }
}

void JsonText::begin_member(std::string_view name) {
    separate();
    put(name);
    text_ += ':';
}

void JsonText::put(std::string_view text) {
    text_ += '"';
    std::size_t begin = 0;
    for (std::size_t index = 0; index < text.size(); ++index) {
        const char escape = escape_of(text[index]);
        if (escape == '\0') {
            continue;
        }
        text_ += text.substr(begin, index - begin);
        begin = index + 1;
        text_ += '\\';
        text_ += escape;
        if (escape == 'u') {
            constexpr std::string_view kDigits = "0123456789abcdef";
            const auto letter = static_cast<unsigned char>(text[index]);
            text_ += "00";
            text_ += kDigits[letter >> 4U];
            text_ += kDigits[letter & 0xFU];
        }
    }
    text_ += text.substr(begin);
    text_ += '"';
}

void JsonText::put(std::int64_t number) { append_number(text_, number); }

void JsonText::put(std::uint64_t number) { append_number(text_, number); }

void JsonText::add(std::string_view name, std::string_view text) {
    begin_member(name);
    put(text);
}

void JsonText::add(std::string_view name, double number) {
    begin_member(name);
    text_ += to_text(number);
}

void JsonText::add_null(std::string_view name) {
    begin_member(name);
    text_ += "null";
}

void JsonText::begin_object(std::string_view name) {
    begin_member(name);
    text_ += '{';
}

void JsonText::begin_array(std::string_view name) {
    begin_member(name);
    text_ += '[';
}

void JsonText::begin_item() {
    separate();
    text_ += '{';
}

void JsonText::begin_list() {
    separate();
    text_ += '[';
}

void JsonText::add_item(std::string_view text) {
    separate();
    put(text);
}

void JsonText::append_to(std::string& text) const {
    text += text_;
    text += '}';
}

}  // namespace belljar
