#pragma once

namespace belljar {

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace belljar

// States what our own code guarantees; a violation is our bug and ends the process, in release too.
#define BJ_ASSERT(condition) \
    ((condition) ? void(0) : ::belljar::assertion_failed(#condition, __FILE_NAME__, __LINE__))
