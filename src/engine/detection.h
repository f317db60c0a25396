#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "runner/manifest.h"

namespace belljar::engine {

// Looks for the programs of languages where jars have them.
class Detection {
   public:
    // `root`: as isolation.root says; empty: the host's own directories.
    explicit Detection(const std::string& root);

    // The first of the manifest's paths that can be executed, or the sentence that says that there
    // is none. In an image nobody can look before a jar is made of it: there it is the first.
    [[nodiscard]] Result<std::string> find(const runner::Manifest& manifest) const;

   private:
    [[nodiscard]] bool is_program(const std::string& path) const;

    Fd root_;  // invalid: an image
};

}  // namespace belljar::engine
