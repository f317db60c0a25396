#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace belljar::policy {

// Whether a Python program is short and has no word and no sign in it that any rule of the scanner
// (guest/python/scan.py) asks for, nor one of `builtins`. Nobody has to read it then to know that
// nothing would be found. Looks at letters and not at grammar: what is not plain is read.
[[nodiscard]] bool is_plain_python(std::string_view code, const std::vector<std::string>& builtins);

}  // namespace belljar::policy
