#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/result.h"
#include "jar/spec.h"

namespace belljar::engine {

struct WardenOptions {
    std::string program{};  // path of belljar-warden
    std::uint32_t first_user_id = 0;
    std::uint32_t user_id_count = 0;
    LogLevel log_level = LogLevel::Info;
    std::string mode = "auto";  // or root, rootless, nested
    Bytes workspace{};          // the size of a jar's /workspace
    std::string root{};         // directory or erofs image; empty: the host's own
    std::string logs{};         // directory shown at /logs to jars that ask for it; empty: none
    std::string scratch{};      // directory for the disk space of jars
};

// The warden as its starter sees it.
struct WardenProcess {
    PidFd keeper;
    Fd socket;
    std::uint32_t layers = 0;  // isolation::Layer bits
    jar::Mode mode = jar::Mode::Root;
};

// belljar-warden in the directory of this program.
[[nodiscard]] Result<std::string> find_warden();

// Starts the warden and waits until it is ready. Call it while privileged and before any thread
// exists.
[[nodiscard]] Result<WardenProcess> start_warden(const WardenOptions& options);

// Once the socket is closed, the warden kills every jar and ends; this waits for that.
[[nodiscard]] Result<void> wait_for_warden(const PidFd& keeper);

}  // namespace belljar::engine
