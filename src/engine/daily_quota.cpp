#include "engine/daily_quota.h"

#include <fmt/format.h>

namespace belljar::engine {
namespace {

std::unexpected<Error> refuse(std::string_view what, DailyQuota::WallTime now) {
    const std::chrono::seconds rest = until_midnight(now);
    return fail(Error{.code = ErrorCode::QuotaReached,
                      .message = fmt::format("{} of this day (UTC) are used up; try again in {} s",
                                             what, rest.count()),
                      .retry_after = rest});
}

}  // namespace

std::chrono::seconds until_midnight(DailyQuota::WallTime now) {
    const auto tomorrow = std::chrono::floor<std::chrono::days>(now) + std::chrono::days(1);
    return std::chrono::ceil<std::chrono::seconds>(tomorrow - now);
}

void DailyQuota::Reservation::end() {
    if (DailyQuota* const quota = std::exchange(quota_, nullptr)) {
        quota->give_back(principal_);
    }
}

Result<DailyQuota::Reservation> DailyQuota::reserve(const std::string& principal,
                                                    const execution::PrincipalLimits& limits,
                                                    const execution::DailyUsage& used,
                                                    WallTime now) {
    const auto found = to_start_.find(principal);
    const std::uint64_t begun = used.runs + (found == to_start_.end() ? 0 : found->second);
    if (const std::uint64_t runs = limits.runs_per_day.value_or(0); runs > 0 && begun >= runs) {
        return refuse(fmt::format("your {} runs", runs), now);
    }
    const std::uint64_t seconds = limits.cpu_seconds_per_day.value_or(0);
    if (seconds > 0 && used.cpu >= std::chrono::seconds(seconds)) {
        return refuse(fmt::format("your {} CPU seconds", seconds), now);
    }
    ++to_start_[principal];
    return Reservation(*this, principal);
}

void DailyQuota::give_back(const std::string& principal) {
    const auto found = to_start_.find(principal);
    if (--found->second == 0) {
        to_start_.erase(found);
    }
}

}  // namespace belljar::engine
