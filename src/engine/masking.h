#pragma once

#include "execution/conversation.h"
#include "execution/governance.h"
#include "execution/result.h"
#include "privacy/types.h"

namespace belljar::engine {

// The types that rules name. Rules are checked before a run starts; if one still cannot be read,
// everything is masked.
[[nodiscard]] privacy::TypeSet masked_types(const execution::PrivacyRules& rules);

// The types of both, each once.
[[nodiscard]] execution::PrivacyRules join(execution::PrivacyRules rules,
                                           const execution::PrivacyRules& more);

// Masks what the guest has reported: value, representations, outputs that are text, names of
// variables, the error, and what denials and notes repeat of it. The streams were masked as they
// came. Adds to result.masked.
void mask_result(privacy::TypeSet types, execution::RunResult& result);

// Part of a file as it may be shown: every masked byte becomes a star, so that offsets stay what
// they are. Pictures and the like, and what holds zeros and is not called text, are left alone.
void mask_part(privacy::TypeSet types, execution::FilePart& part);

// So much before and behind a part says whether something in it is masked.
inline constexpr std::uint64_t kAroundPart = 1024;

}  // namespace belljar::engine
