#pragma once

#include <optional>

#include "mcp/json_rpc.h"
#include "mcp/revision.h"

namespace belljar::mcp {

// Which revision one stdio connection speaks. The first request that is not server/discover settles
// the era: one with a version claim the modern era, any other the legacy one.
class StdioEra {
   public:
    // The revision to answer this request in, or the refusal. May settle the era.
    RpcResult<Revision> admit(const Message& request);

    // The legacy revision that a message without a claim is read in; none once the era is modern.
    [[nodiscard]] std::optional<Revision> legacy_revision() const;
    [[nodiscard]] bool settled_legacy() const { return era_ == Era::Legacy; }

   private:
    RpcResult<Revision> admit_modern(const Message& request);
    Revision admit_legacy(const Message& request);

    std::optional<Era> era_;
    Revision legacy_revision_ = kAssumedRevision;
};

}  // namespace belljar::mcp
