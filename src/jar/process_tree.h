#pragma once

#include <sys/types.h>

#include <vector>

#include "base/result.h"

// Ending everything that was started from here, where no pid namespace does it. A program that
// forks faster than it is killed can be ended only all at once, by a signal to everybody; so that
// has to reach nobody else.
namespace belljar::jar {

// Whom a signal to everybody, pid -1, reaches from the calling process.
enum class Everybody {
    Anyone,  // strangers too: it must not be sent
    OneJar,  // the processes of one jar only
};

// Ends every descendant of the calling process, until none is left. The caller is a child
// subreaper, so that an orphan becomes its child and cannot hide.
[[nodiscard]] Result<void> end_jar(Everybody everybody);

// The same for every descendant except `spared` and what is below those. An init of a jar gets the
// time to end its jar itself.
[[nodiscard]] Result<void> end_descendants(const std::vector<pid_t>& spared);

// Ends every descendant where namespaces do it, and reaps each at once: an init cannot end before
// its guest is reaped. The caller is a child subreaper.
[[nodiscard]] Result<void> end_and_reap_descendants();

// Reaps the children that have ended and are not among `known`, which nobody else would.
[[nodiscard]] Result<void> reap_unknown(const std::vector<pid_t>& known);

// Ends whatever runs as `user`, an id that one jar alone has, and that the caller may take.
[[nodiscard]] Result<void> end_processes_of(uid_t user);

}  // namespace belljar::jar
