#pragma once

#include <string>

#include "jar/spec.h"

namespace belljar::jar {

// The names under which a guest finds its directories. Where a jar has no tree of its own they are
// those of the host, which nobody outside of it can know. Asked from inside the workspace.
class LocalPaths {
   public:
    explicit LocalPaths(WorkspaceKind kind);

    // /workspace and /tmp, alone or as the beginning of a path; anything else as it is.
    [[nodiscard]] std::string translate(const std::string& path) const;
    // The same for the value of NAME=value.
    [[nodiscard]] std::string translate_variable(const std::string& variable) const;

   private:
    std::string scratch_;  // ends in a slash; empty: nothing has another name
};

}  // namespace belljar::jar
