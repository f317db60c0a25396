#pragma once

#include <string_view>

namespace belljar::policy {

// Whether a Python program has no way to a file: no word in it opens one or leads to what does, and
// it imports only modules that know of none. Looks at letters and not at grammar, and takes
// everything that it does not understand for a way. No wall: who finds a way all the same meets a
// smaller file system.
[[nodiscard]] bool uses_no_files(std::string_view code);

}  // namespace belljar::policy
