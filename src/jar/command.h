#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace belljar::jar {

// What is executed in a jar: arguments[0] is a path inside it.
struct Command {
    std::vector<std::string> arguments{};
    std::vector<std::string> environment{};  // NAME=value
};

// The same in a fixed size: argument_count and then variable_count strings, each ended by a NUL
// byte.
struct CommandText {
    std::uint32_t argument_count;
    std::uint32_t variable_count;
    std::uint32_t text_length;
    std::array<char, 8192> text;
};

[[nodiscard]] Result<CommandText> to_text(const Command& command);
// The text may come from a server that was taken over.
[[nodiscard]] Result<Command> command_of(const CommandText& text);

}  // namespace belljar::jar
