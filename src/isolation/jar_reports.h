#pragma once

#include <cstdint>

#include "base/fd.h"
#include "base/result.h"
#include "isolation/seqpacket.h"
#include "isolation/step.h"

// What a jar tells the warden over their private socket. The socket belongs to init; the guest
// never holds it after exec.
namespace belljar::isolation {

enum class JarEvent : std::uint32_t {
    AwaitsIdentity,  // the user namespace exists; carries a descriptor of the workspace
    GuestStarts,     // set-up is done, the guest is about to be forked
    StepFailed,      // the jar ends itself
    GuestExited,
};

struct JarReport {
    JarEvent event;
    Step step;
    std::int32_t value;  // errno of the failed step, or the guest's wait status
};

[[nodiscard]] Result<void> send_report(const Fd& socket, const JarReport& report,
                                       std::span<const int> fds = {});
[[nodiscard]] Result<JarReport> decode_report(std::string_view data);

}  // namespace belljar::isolation
