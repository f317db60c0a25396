#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runner/manifest.h"

namespace belljar::runner {

// A set of languages with distinct names. Copies share their manifests.
class Runners {
   public:
    // The manifests that are part of the binary; what a server cannot do without comes first.
    static Result<Runners> create();

    // Adds a language or replaces the one of the same name. Conflict if another has one of its
    // names.
    [[nodiscard]] Result<void> put(ManifestPtr manifest);

    // Specialists hold memory even if nobody needs them: for an operator who wants none.
    void dismiss_specialists();

    // By language name or alias, without regard to case; nullptr if there is none.
    [[nodiscard]] ManifestPtr find(std::string_view language) const;
    [[nodiscard]] const std::vector<ManifestPtr>& all() const { return manifests_; }
    // In whose jars the language's programs run. Languages without a bootstrap program share
    // theirs, because what is executed there is part of the request.
    [[nodiscard]] ManifestPtr jar_of(const ManifestPtr& manifest) const;

   private:
    std::vector<ManifestPtr> manifests_;
    std::array<ManifestPtr, 4> launchers_;
};

}  // namespace belljar::runner
