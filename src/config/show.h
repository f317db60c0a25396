#pragma once

#include <string>

#include "config/load.h"

namespace belljar::config {

// `belljar config show`: one line per key with its value and where that came from. No secrets.
[[nodiscard]] std::string render(const Loaded& loaded);

// `belljar config reference`: a TOML file with every key, its help and, commented out, its default.
[[nodiscard]] std::string render_reference();

}  // namespace belljar::config
