#pragma once

#include <cstdint>

#include "base/fd.h"
#include "base/result.h"
#include "jar/denial_record.h"
#include "jar/seqpacket.h"
#include "jar/step.h"

// What a jar tells the warden over their private socket, and is told. The socket belongs to init;
// the guest never holds it after exec.
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

// What init is told. Not by signals: a guest can have one of the same number wait in init's queue,
// and the kernel drops the second.
enum class InitOrder : std::uint32_t {
    GoOn,  // the files of a guest that has ended were looked at
    End,   // the run is over; not without a pid namespace, where SIGTERM says so
};
// It does not matter if init has ended in the meantime.
[[nodiscard]] Result<void> send_order(const Fd& socket, InitOrder order);

}  // namespace belljar::jar
