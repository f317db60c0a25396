#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace belljar::engine {

struct WardenOptions {
    std::string program{};  // path of belljar-warden
    std::uint32_t first_user_id = 0;
    std::uint32_t user_id_count = 0;
};

// The warden as its starter sees it.
struct WardenProcess {
    PidFd keeper;
    Fd socket;
    std::uint32_t layers = 0;  // isolation::Layer bits
};

// belljar-warden in the directory of this program.
[[nodiscard]] Result<std::string> find_warden();

// Starts the warden and waits until it is ready. Call it while privileged and before any thread
// exists.
[[nodiscard]] Result<WardenProcess> start_warden(const WardenOptions& options);

// Once the socket is closed, the warden kills every jar and ends; this waits for that.
[[nodiscard]] Result<void> wait_for_warden(const PidFd& keeper);

}  // namespace belljar::engine
