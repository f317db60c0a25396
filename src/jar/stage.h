#pragma once

#include <array>
#include <cstdint>

#include "base/fd.h"
#include "base/result.h"
#include "jar/spec.h"

// Where the tree of a jar is put together: a file system with everything that is the same in many
// jars, made once by the nursery. Each jar has the same names in its root and shows its directories
// as overlays of its own (root_tree.h), which costs a tenth of writing the same files again. It is
// read-only when the first jar sees it.
namespace belljar::jar {

// What is on a stage. `lower` holds the files themselves; the system's directories are mounted over
// it later, since a mount table tells this name.
inline constexpr const char* kLower = "lower";
inline constexpr const char* kEmpty = "empty";
inline constexpr const char* kRoot = "root";

// Links into /usr, or directories of the system's own; which of them there are is its choice.
inline constexpr std::array<const char*, 6> kBesideUsr{"bin",   "sbin",  "lib",
                                                       "lib32", "lib64", "libx32"};

// What decides about the content, besides the host.
struct StagePlan {
    HostPath root;  // where the system directories come from; empty: the host's own
    std::uint32_t shows_logs;
};

// Links of the system, directories to mount on, an /etc unless the tree has one, and the tools of
// `pack`, if it is valid. Not attached yet. Runs with the umask of its caller.
[[nodiscard]] Result<Fd> make_stage(const StagePlan& plan, const Fd& pack);

// Whether the tree brings its own /etc, which is shown instead of ours.
[[nodiscard]] bool has_own_etc(const HostPath& root);

// Debian's links to the chosen of several equal programs and libraries, such as BLAS.
inline constexpr const char* kAlternatives = "/etc/alternatives";

}  // namespace belljar::jar
