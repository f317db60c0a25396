#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace belljar::host {

// The first executable of that name in a list of directories such as PATH; empty if there is none.
[[nodiscard]] std::string find_program(std::string_view name, std::string_view directories);

// PATH and the directories of system programs, which an ordinary user's PATH leaves out.
[[nodiscard]] std::string search_path();

}  // namespace belljar::host
