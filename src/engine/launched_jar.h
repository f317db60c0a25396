#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "approved/pack.h"
#include "base/result.h"
#include "engine/file_transfer.h"
#include "engine/guest_io.h"
#include "engine/warden_link.h"
#include "execution/limits.h"
#include "runner/manifest.h"

namespace belljar::engine {

// A jar that was ordered, and the pipes of its guest. Whoever holds it sees to its end.
struct LaunchedJar {
    isolation::JarId id = 0;
    GuestIo io;
    Begin begin = Begin::AtOnce;
    std::shared_ptr<FileChannel> files{};
    approved::PackPtr tools{};  // that its guest can import; nullptr: none
};

// How a guest comes into being.
struct Birth {
    Begin begin = Begin::AtOnce;
    std::uint32_t zygote = 0;  // who forks it; 0: its interpreter is started
    approved::PackPtr tools{};
    isolation::Disk disk = isolation::Disk::Own;
};

// Of its tools; empty: it has none.
[[nodiscard]] inline std::string digest_of(const LaunchedJar& jar) {
    return jar.tools ? jar.tools->digest : std::string();
}

// Orders a jar in which the language's bootstrap program, or the launcher, waits for its request.
[[nodiscard]] Result<LaunchedJar> launch_jar(const asio::any_io_executor& executor,
                                             WardenLink& warden, const runner::Manifest& manifest,
                                             const execution::Limits& limits, Birth birth);

}  // namespace belljar::engine
