#pragma once

#include "base/fd.h"

namespace belljar::jar {

// Closes the calling process in, as the warden tells it over the socket, and becomes the jar's
// init. Reads as the whole confinement, one step per line; the order is part of the security.
[[noreturn]] void contain(const Fd& warden);

}  // namespace belljar::jar
