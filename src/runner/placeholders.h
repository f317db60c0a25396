#pragma once

#include <string_view>

namespace belljar::runner {

// What stands in a manifest's commands for what is known only later.
inline constexpr std::string_view kProgram = "{program}";      // the path that was detected
inline constexpr std::string_view kDirectory = "{directory}";  // the one that it is in
inline constexpr std::string_view kFile = "{file}";            // the code's file
inline constexpr std::string_view kOutput = "{output}";        // where the compiler puts its work
inline constexpr std::string_view kArguments = "{args}";       // those of the program

}  // namespace belljar::runner
