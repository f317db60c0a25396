#include "engine/approvals.h"

#include <algorithm>

namespace belljar::engine {

Result<void> Approvals::add(Approval approval, Time now) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    if (approval.code_sha256.size() != 64 ||
        approval.code_sha256.find_first_not_of(kDigits) != std::string::npos) {
        return fail(ErrorCode::InvalidArgument,
                    "\"code_sha256\" must be the SHA-256 of the program, as 64 digits of 0-9a-f");
    }
    if (approval.lifetime <= std::chrono::seconds(0) || approval.lifetime > kLongest) {
        return fail(ErrorCode::InvalidArgument, "\"lifetime_seconds\" must be between 1 and 86400");
    }
    std::erase_if(entries_, [now](const auto& entry) { return entry.second.until <= now; });
    if (entries_.size() >= kMost && !entries_.contains(approval.code_sha256)) {
        return fail(ErrorCode::Overloaded, "too many approvals are in force; wait for some to end");
    }
    entries_[approval.code_sha256] = {.approver = std::move(approval.approver),
                                      .until = now + approval.lifetime};
    return {};
}

std::optional<std::string> Approvals::approver_of(const std::string& code_sha256, Time now) const {
    const auto found = entries_.find(code_sha256);
    return found != entries_.end() && found->second.until > now
               ? std::optional(found->second.approver)
               : std::nullopt;
}

}  // namespace belljar::engine
