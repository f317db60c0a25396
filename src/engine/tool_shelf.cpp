#include "engine/tool_shelf.h"

#include <algorithm>
#include <utility>

namespace belljar::engine {
namespace {

// There are few groups of callers; who makes up names for itself gets no more than this.
constexpr std::size_t kMostPacks = 256;

}  // namespace

bool same(const approved::PackPtr& one, const approved::PackPtr& other) {
    const bool empty = one == nullptr || one->digest.empty();
    if (empty || other == nullptr) {
        return empty && (other == nullptr || other->digest.empty());
    }
    return one == other || (one->digest == other->digest && one->needs_logs == other->needs_logs);
}

void ToolShelf::adopt(approved::Collection collection) {
    collection_ = std::move(collection);
    packs_.clear();
    for_everybody_ = std::ranges::all_of(collection_.modules, [](const approved::Module& module) {
        return approved::may_use(module.approval, {});
    });
    // Without one there are no tools, which is what fails least.
    const auto empty = std::make_shared<const approved::Pack>();
    common_ = make_pack_for({}).value_or(empty);
}

Result<approved::PackPtr> ToolShelf::pack_for(const approved::Reader& reader) {
    return for_everybody_ && !reader.tool_sets ? common_ : make_pack_for(reader);
}

Result<approved::PackPtr> ToolShelf::make_pack_for(const approved::Reader& reader) {
    std::vector<bool> seen;
    for (const approved::Module& module : collection_.modules) {
        seen.push_back(approved::may_use(module.approval, reader));
    }
    if (const auto found = packs_.find(seen); found != packs_.end()) {
        return found->second;
    }
    std::vector<const approved::Module*> modules;
    for (std::size_t index = 0; index < seen.size(); ++index) {
        if (seen[index]) {
            modules.push_back(&collection_.modules[index]);
        }
    }
    BJ_TRY(approved::PackPtr pack, approved::make_pack(modules));
    if (packs_.size() >= kMostPacks) {
        packs_.clear();
    }
    packs_.emplace(std::move(seen), pack);
    return pack;
}

}  // namespace belljar::engine
