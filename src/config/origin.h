#pragma once

#include <cstddef>
#include <string>

namespace belljar::config {

// Where a value came from, for `belljar config show` and for messages.
struct Origin {
    enum class Source { Default, File, Environment, Flag };

    Source source = Source::Default;
    std::string name{};    // the file, the variable or the flag
    std::size_t line = 0;  // in a file
    std::string note{};    // what was done to the value afterwards

    // "default", "belljar.toml:3", "environment LOG_LEVEL", "flag --listen"
    [[nodiscard]] std::string describe() const;

    bool operator==(const Origin&) const = default;
};

}  // namespace belljar::config
