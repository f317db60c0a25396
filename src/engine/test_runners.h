#pragma once

#include <vector>

#include "runner/manifest.h"

namespace belljar::engine {

// For tests that count jars: one language is enough for them.
inline runner::Runners only_python() {
    runner::Runners runners = runner::Runners::create().value();
    for (const runner::Manifest& manifest : std::vector(runners.all())) {
        if (manifest.language != "python") {
            runners.remove(manifest.language);
        }
    }
    return runners;
}

}  // namespace belljar::engine
