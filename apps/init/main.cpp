// The first program of every jar. It closes itself in, becomes the jar's pid 1 and forks the guest.
// An own program and not a copy of the warden, so that nothing of the warden's memory is inside a
// jar. The warden starts it once as a nursery, of which every jar's init is a copy; where there are
// no namespaces, once for each jar. Descriptor 3 is the socket to the warden.

#include <fcntl.h>

#include "jar/contain.h"
#include "jar/nursery.h"

namespace {

constexpr int kWardenSocket = 3;

}  // namespace

int main(int argument_count, char**) {
    ::fcntl(kWardenSocket, F_SETFD, FD_CLOEXEC);
    const belljar::Fd warden(kWardenSocket);
    if (argument_count > 1) {
        belljar::jar::become_nursery(warden);
    }
    belljar::jar::contain(warden);
}
