#include "commands.h"

#include <fmt/format.h>

#include <cstdio>

namespace belljar::apps {

void complain(const Error& error) { fmt::print(stderr, "belljar: {}\n", error.describe()); }

}  // namespace belljar::apps
