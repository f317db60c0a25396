#pragma once

#include <memory>
#include <string>
#include <vector>

#include "approved/manifest.h"
#include "base/bytes.h"
#include "base/fd.h"
#include "base/result.h"

namespace belljar::approved {

// A file whose content has been checked.
struct Module {
    Approval approval{};
    std::string content{};
};

// What a jar gets: a sealed file with the modules in it, which nobody can change any more, not even
// this server (jar/tool_tree.h).
struct Pack {
    Fd file{};
    std::string digest{};  // of names and contents; empty: there are no modules in it
    std::vector<std::string> modules{};
    bool needs_logs = false;
};
using PackPtr = std::shared_ptr<const Pack>;

[[nodiscard]] Result<PackPtr> make_pack(const std::vector<const Module*>& modules);

// A module and the reason why it is not served.
struct Refusal {
    std::string file{};
    std::string reason{};  // a stable word: "changed", "unlisted", "import_failed"
    std::string text{};    // a sentence

    bool operator==(const Refusal&) const = default;
};

// One version of the tools: what may be served, to whomever.
struct Collection {
    std::vector<Module> modules{};
    std::vector<Refusal> refusals{};
    std::string digest{};  // of everything that was read
};

}  // namespace belljar::approved
