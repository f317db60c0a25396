#pragma once

#include <cstdint>

#include "base/fd.h"
#include "base/result.h"
#include "jar/denial_record.h"
#include "jar/seqpacket.h"
#include "jar/step.h"

// What a jar tells the warden over their private socket. The socket belongs to init; the guest
// never holds it after exec.
namespace belljar::jar {

enum class JarEvent : std::uint32_t {
    TreeStands,   // carries descriptors of /workspace and /tmp
    GuestStarts,  // set-up is done, the guest is about to be forked
    StepFailed,   // the jar ends itself
    GuestExited,
    Denied,       // the kernel refused a call of the guest, for the first time of its kind
    NobodyLeft,   // under the guest's filter: it has ended, or is about to
    UsesNetwork,  // its first internet socket; carries the kernel's counters of the jar's network
};
inline constexpr JarEvent kLastJarEvent = JarEvent::UsesNetwork;

struct JarReport {
    JarEvent event;
    Step step;
    std::int32_t value;   // errno of the failed step, or the guest's wait status
    DenialRecord denial;  // of Denied
};

[[nodiscard]] Result<void> send_report(const Fd& socket, const JarReport& report,
                                       std::span<const int> fds = {});
[[nodiscard]] Result<JarReport> decode_report(std::string_view data);

}  // namespace belljar::jar
