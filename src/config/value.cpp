#include "config/value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <concepts>
#include <optional>

#include "base/utf8.h"
#include "config/address_range.h"
#include "config/choice.h"
#include "config/duration.h"
#include "config/problems.h"

namespace belljar::config {
namespace {

using Kind = RawValue::Kind;

constexpr std::size_t kMaximumTextLength = 4096;
constexpr std::size_t kMaximumItems = 1000;

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Each notation reads one type from text; nothing if the text does not have its form.
std::optional<Duration> parse(std::string_view text, Duration) {
    const Result<Duration> value = parse_duration(text);
    return value ? std::optional(*value) : std::nullopt;
}

std::optional<Bytes> parse(std::string_view text, Bytes) {
    const Result<Bytes> value = parse_bytes(text);
    return value ? std::optional(*value) : std::nullopt;
}

std::optional<ListenAddress> parse(std::string_view text, const ListenAddress&) {
    const Result<ListenAddress> value = parse_listen_address(text);
    return value ? std::optional(*value) : std::nullopt;
}

template <typename T>
    requires std::same_as<T, double> || std::same_as<T, std::uint32_t>
std::optional<T> parse(std::string_view text, T) {
    T value{};
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    const bool starts_with_digit = !text.empty() && text.front() >= '0' && text.front() <= '9';
    if (error != std::errc{} || rest != end || !starts_with_digit) {
        return std::nullopt;  // from_chars alone would also read "-1", "inf" and "nan"
    }
    return value;
}

template <Enumeration T>
std::optional<T> parse(std::string_view text, T) {
    return meaning_of<T>(text);
}

template <typename T>
bool may_be_written_as(Kind kind) {
    if constexpr (std::same_as<T, Duration> || std::same_as<T, double>) {
        return kind == Kind::Text || kind == Kind::Integer || kind == Kind::Decimal;
    } else if constexpr (std::same_as<T, Bytes> || std::same_as<T, std::uint32_t>) {
        return kind == Kind::Text || kind == Kind::Integer;
    } else if constexpr (std::same_as<T, Switch>) {
        return kind == Kind::Text || kind == Kind::Boolean;
    } else {
        return kind == Kind::Text;
    }
}

template <typename T>
bool is_in_range(const Key& key, const T& value) {
    if constexpr (std::totally_ordered<T>) {
        const std::optional<T> minimum = parse(key.minimum, T{});
        const std::optional<T> maximum = parse(key.maximum, T{});
        return (!minimum || value >= *minimum) && (!maximum || value <= *maximum);
    }
    return true;
}

bool is_control(char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return byte < 0x20 || byte == 0x7f;
}

bool is_word_letter(char letter) {
    return letter > ' ' && letter < 0x7f && letter != '"' && letter != '\'';
}

bool is_name_letter(char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' ||
           letter == '_' || letter == '-';
}

bool is_named_secret(std::string_view text) {
    const std::size_t colon = text.find(':');
    return colon != std::string_view::npos && colon > 0 && colon + 1 < text.size() &&
           std::ranges::all_of(text.substr(0, colon), is_name_letter) &&
           std::ranges::all_of(text, is_word_letter);
}

bool has_form(std::string_view text, TextForm form) {
    switch (form) {
        case TextForm::Any:
            return is_valid_utf8(text) && std::ranges::none_of(text, is_control);
        case TextForm::Word:
            return std::ranges::all_of(text, is_word_letter);
        case TextForm::Url:
            return std::ranges::all_of(text, is_word_letter) &&
                   (text.empty() || text.starts_with("http://") || text.starts_with("https://"));
        case TextForm::AddressRange:
            return parse_address_range(text).has_value();
        case TextForm::NamedSecret:
            return is_named_secret(text);
    }
    return false;
}

bool is_item(const Key& key, std::string_view item) {
    const std::span<const std::string_view> choices = choices_of(key);
    return !item.empty() && item.size() <= kMaximumTextLength && has_form(item, key.form) &&
           (choices.empty() || std::ranges::find(choices, item) != choices.end());
}

// The readers: whether the raw value is allowed; only then is `value` changed.
template <typename T>
bool read(const Key& key, const RawValue& raw, T& value) {
    const std::optional<T> parsed = parse(trimmed(raw.text), T{});
    if (!may_be_written_as<T>(raw.kind) || !parsed || !is_in_range(key, *parsed)) {
        return false;
    }
    value = *parsed;
    return true;
}

bool read(const Key& key, const RawValue& raw, std::string& value) {
    const bool may_be_empty = key.default_text.empty();
    if (raw.kind != Kind::Text || raw.text.size() > kMaximumTextLength ||
        !has_form(raw.text, key.form) || (raw.text.empty() && !may_be_empty)) {
        return false;
    }
    value = raw.text;
    return true;
}

bool read(const Key& key, const RawValue& raw, std::vector<std::string>& value) {
    if (raw.kind != Kind::List && raw.kind != Kind::Text) {
        return false;
    }
    std::vector<std::string> items = raw.items;
    std::string_view rest = raw.kind == Kind::Text ? std::string_view(raw.text) : "";
    while (!rest.empty() && items.size() <= kMaximumItems) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        items.emplace_back(trimmed(rest.substr(0, comma)));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    const auto is_allowed = [&](const std::string& item) { return is_item(key, item); };
    if (items.size() > kMaximumItems || !std::ranges::all_of(items, is_allowed)) {
        return false;
    }
    value = std::move(items);
    return true;
}

std::string show(const std::string& value) { return value; }
std::string show(const std::vector<std::string>& value) {
    return fmt::format("{}", fmt::join(value, ", "));
}
std::string show(Duration value) { return format_duration(value); }
std::string show(Bytes value) { return format_bytes(value); }
std::string show(double value) { return fmt::format("{}", value); }
std::string show(std::uint32_t value) { return fmt::format("{}", value); }
std::string show(const ListenAddress& value) { return format_listen_address(value); }
template <Enumeration T>
std::string show(T value) {
    return std::string(word_for(value));
}

std::string_view describe_form(TextForm form) {
    switch (form) {
        case TextForm::Any:
            return "text on one line";
        case TextForm::Word:
            return "text without spaces and quotes";
        case TextForm::Url:
            return "an address that starts with http:// or https://";
        case TextForm::AddressRange:
            return "an address, a range of them such as 10.0.0.0/8, or unix";
        case TextForm::NamedSecret:
            return "name:secret";
    }
    return "text";
}

std::string expected(const Key& key, const std::string&) {
    return fmt::format("{}{}", describe_form(key.form),
                       key.default_text.empty() ? "" : ", not empty");
}
std::string expected(const Key& key, const std::vector<std::string>&) {
    const std::span<const std::string_view> choices = choices_of(key);
    if (key.form == TextForm::NamedSecret) {
        return "a list of name:secret, the names of letters, digits, '.', '_' and '-'";
    }
    if (key.form == TextForm::AddressRange) {
        return "a list of addresses, ranges of them such as 10.0.0.0/8, or unix";
    }
    return choices.empty() ? "a list of texts without spaces and quotes"
                           : fmt::format("a list of some of: {}", fmt::join(choices, ", "));
}
std::string expected(const Key&, Duration) {
    return "a duration such as 30 (seconds), 0.5, \"500ms\" or \"2m\"";
}
std::string expected(const Key&, Bytes) { return "a size such as 1048576, \"256m\" or \"1g\""; }
std::string expected(const Key&, double) { return "a number"; }
std::string expected(const Key&, std::uint32_t) { return "a whole number"; }
std::string expected(const Key&, const ListenAddress&) {
    return "an address such as \"127.0.0.1:8080\", \"[::1]:8080\" or \":8080\"";
}
std::string expected(const Key&, Switch) { return "true or false"; }
template <Enumeration T>
std::string expected(const Key&, T) {
    std::vector<std::string_view> words;
    for (const Choice<T>& choice : choices_for(T{})) {
        words.push_back(choice.word);
    }
    return fmt::format("one of: {}", joined(words));
}

std::string describe_found(const Key& key, const RawValue& raw) {
    if (key.secrecy == Secrecy::Secret) {
        return "a value that is not shown";
    }
    switch (raw.kind) {
        case Kind::Text:
            return quoted(raw.text);
        case Kind::List:
            return fmt::format("the list {}",
                               quoted(fmt::format("{}", fmt::join(raw.items, ", "))));
        case Kind::Integer:
        case Kind::Decimal:
        case Kind::Boolean:
        case Kind::Table:
        case Kind::Other:
            return raw.text;
    }
    return raw.text;
}

}  // namespace

Result<void> store(Settings& settings, const Key& key, const RawValue& value) {
    const bool stored =
        std::visit([&](auto* target) { return read(key, value, *target); }, key.slot(settings));
    if (!stored) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("found {}; expected {}", describe_found(key, value), allowed(key)));
    }
    return {};
}

std::string text_of(const Settings& settings, const Key& key) {
    Settings copy = settings;
    return std::visit([](const auto* value) { return show(*value); }, key.slot(copy));
}

std::string allowed(const Key& key) {
    Settings any;
    std::string text =
        std::visit([&](const auto* value) { return expected(key, *value); }, key.slot(any));
    if (!key.minimum.empty()) {
        text += fmt::format(", from {} to {}", key.minimum, key.maximum);
    }
    return text;
}

}  // namespace belljar::config
