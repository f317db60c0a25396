#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "approved/manifest.h"
#include "approved/pack.h"
#include "base/result.h"

namespace belljar::engine {

// The approved tools that are served now, and what of them each caller gets. A pack that a jar has
// got stays what it was, whatever is adopted afterwards. On the I/O thread.
class ToolShelf {
   public:
    void adopt(approved::Collection collection);
    // What a jar for this caller has. Callers that may use the same modules share a pack.
    [[nodiscard]] Result<approved::PackPtr> pack_for(const approved::Reader& reader);
    // That of a caller about whom nothing is known; never nullptr.
    [[nodiscard]] approved::PackPtr common() const { return common_; }
    // Whether roles make no difference.
    [[nodiscard]] bool for_everybody() const { return for_everybody_; }
    [[nodiscard]] const approved::Collection& collection() const { return collection_; }

   private:
    [[nodiscard]] Result<approved::PackPtr> make_pack_for(const approved::Reader& reader);

    approved::Collection collection_;
    bool for_everybody_ = true;  // no module is for some only
    approved::PackPtr common_ = std::make_shared<const approved::Pack>();
    std::map<std::vector<bool>, approved::PackPtr> packs_;  // by which modules are in it
};

// Whether a jar that has the one serves for the other.
[[nodiscard]] bool same(const approved::PackPtr& one, const approved::PackPtr& other);

}  // namespace belljar::engine
