#pragma once

#include <sys/types.h>

#include <array>

#include "base/fd.h"
#include "execution/limits.h"
#include "isolation/warden_messages.h"

namespace belljar::isolation {

// The id that the guest and its init have inside every jar.
inline constexpr uid_t kInnerUser = 1000;

// Everything that is needed to build one jar, checked already.
struct JarSpec {
    JarId id = 0;
    Command command{};
    execution::Limits limits{};
    uid_t host_user = 0;                          // unique among living jars
    std::array<Fd, kGuestFdCount> descriptors{};  // by GuestFd
};

}  // namespace belljar::isolation
