#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace belljar::approved {

inline constexpr Bytes kLargestManifest = mebibytes(1);
inline constexpr std::size_t kMostModules = 1000;

// A caller as far as modules are concerned.
struct Reader {
    std::string principal{};
    std::vector<std::string> roles{};  // those that are no role of the server's own
    // That policy allows; nothing: all.
    std::optional<std::vector<std::string>> tool_sets{};
};

// What a person has approved: one file, by its digest.
struct Approval {
    std::string file{};    // below the directory: "log_store.py", "deep/part.py"
    std::string sha256{};  // lower-case hexadecimal
    std::string owner{};   // who answers for it
    std::string version{};
    std::string description{};
    std::vector<std::string> principals{};  // who may use it; both empty: everybody
    std::vector<std::string> roles{};
    std::vector<std::string> tool_sets{};  // that it belongs to, besides the one of its own name
    bool needs_logs = false;               // jars with it see the directory of logs

    bool operator==(const Approval&) const = default;
};

// "deep.part", as programs import it.
[[nodiscard]] std::string module_name(std::string_view file);

// Whether a file can be served under this name at all: a plain path, and if it is a module, one
// that can be imported.
[[nodiscard]] bool is_servable_name(std::string_view file);

[[nodiscard]] bool may_use(const Approval& approval, const Reader& reader);

// The approvals of a file, in its order. Refused as a whole if anything in it is wrong: the message
// names the line.
[[nodiscard]] Result<std::vector<Approval>> parse_manifest(const std::string& file_name,
                                                           std::string_view text);

// The same as a text that a person can go on editing.
[[nodiscard]] std::string write_manifest(const std::vector<Approval>& approvals);

}  // namespace belljar::approved
