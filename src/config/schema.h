#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/settings.h"

namespace belljar::config {

// Where a key's value is kept. The type decides how the value is written, checked and shown.
using Slot = std::variant<std::string*, std::vector<std::string>*, Duration*, Bytes*, double*,
                          std::uint32_t*, ListenAddress*, Switch*, AuthMode*, IsolationFloor*,
                          LaunchMode*, LogLevel*, AuditCode*, AuditFailure*, Unlisted*>;

// What a text, or each item of a list, may consist of.
enum class TextForm {
    Any,           // one line of UTF-8
    Word,          // printable ASCII without spaces and quotes
    Url,           // starts with http:// or https://
    AddressRange,  // 10.0.0.0/8, ::1 or unix
    NamedSecret,   // name:secret, the name of letters, digits, '.', '_' and '-'
};

enum class Secrecy { Open, Secret };

// What a plain number in one of the aliases counts, where that differs from the key itself.
enum class AliasUnit { SameAsKey, Mebibytes };

// One key an operator can set. Bounds and default are written as an operator would write them.
struct Key {
    std::string_view name{};  // "limits.timeout"
    std::string_view help{};  // one line
    std::string_view default_text{};
    std::string_view minimum{};  // empty: none
    std::string_view maximum{};
    TextForm form = TextForm::Any;
    Secrecy secrecy = Secrecy::Open;
    std::array<std::string_view, 9> choices{};  // for items of a list; all empty: any
    std::array<std::string_view, 3> aliases{};  // environment names besides BELLJAR_SECTION_KEY
    AliasUnit alias_unit = AliasUnit::SameAsKey;
    Slot (*slot)(Settings&) = nullptr;

    [[nodiscard]] std::string_view section() const { return name.substr(0, name.find('.')); }
    [[nodiscard]] std::string_view last_name() const { return name.substr(name.find('.') + 1); }
};

// Every key; those of one section stand together.
[[nodiscard]] std::span<const Key> all_keys();

// nullptr if there is no such key.
[[nodiscard]] const Key* find_key(std::string_view name);

[[nodiscard]] std::vector<std::string_view> section_names();

// BELLJAR_LIMITS_MAX_TIMEOUT for limits.max_timeout
[[nodiscard]] std::string variable_name(const Key& key);

// The aliases without the unused places.
[[nodiscard]] std::span<const std::string_view> aliases_of(const Key& key);
[[nodiscard]] std::span<const std::string_view> choices_of(const Key& key);

}  // namespace belljar::config
