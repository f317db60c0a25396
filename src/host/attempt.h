#pragma once

#include <functional>

namespace belljar::host {

// What became of something tried in a child process.
struct Attempt {
    int sys_errno = 0;  // why it did not work
    int signal = 0;     // what ended the child, if a signal did

    [[nodiscard]] bool worked() const { return sys_errno == 0 && signal == 0; }
};

// Forks; the child calls `trial`, which returns 0 or an errno value, and is gone afterwards
// together with every namespace and mount it made. The child has ten seconds. Only for processes
// without threads.
[[nodiscard]] Attempt attempt(const std::function<int()>& trial);

// 0 if a call succeeded, else errno: `return errno_of(::unshare(CLONE_NEWNS));`
[[nodiscard]] int errno_of(long returned);

}  // namespace belljar::host
