// The first program of every jar. The warden starts it in new namespaces with their socket as
// descriptor 3; it closes itself in, becomes the jar's pid 1 and forks the guest. An own program
// and not a copy of the warden, so that nothing of the warden's memory is inside a jar.

#include <fcntl.h>

#include "jar/contain.h"

namespace {

constexpr int kWardenSocket = 3;

}  // namespace

int main() {
    ::fcntl(kWardenSocket, F_SETFD, FD_CLOEXEC);
    belljar::jar::contain(belljar::Fd(kWardenSocket));
}
