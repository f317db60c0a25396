#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace belljar {

void assertion_failed(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "belljar: assertion failed: %s (%s:%d)\n", condition, file, line);
    std::abort();
}

}  // namespace belljar
