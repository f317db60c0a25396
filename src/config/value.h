#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/schema.h"

namespace belljar::config {

// A value as its source wrote it, before it is checked against its key. The environment and the
// command line know text only; a file also has types, and a wrong one is an error.
struct RawValue {
    enum class Kind { Text, Integer, Decimal, Boolean, List, Table, Other };

    Kind kind = Kind::Text;
    std::string text{};                // for Table and Other what it is: "a table"
    std::vector<std::string> items{};  // of a List
};

// Puts the value where the key keeps it; fails with what was found and what is allowed, and leaves
// the settings as they were.
[[nodiscard]] Result<void> store(Settings& settings, const Key& key, const RawValue& value);

// The value in the notation that store reads back; the items of a list with commas between them.
[[nodiscard]] std::string text_of(const Settings& settings, const Key& key);

// What may be written for the key, as the end of the sentence "expected ...".
[[nodiscard]] std::string allowed(const Key& key);

}  // namespace belljar::config
