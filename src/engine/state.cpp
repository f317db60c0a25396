#include "engine/state.h"

namespace belljar::engine {
namespace {

std::unexpected<Error> nothing_remembered() {
    return fail(ErrorCode::Unsupported, "nothing is remembered here beyond a request");
}

}  // namespace

Task<Result<execution::RepeatClaim>> State::claim(execution::RepeatKey /*key*/) {
    co_return nothing_remembered();
}

Task<Result<void>> State::settle(execution::RepeatKey /*key*/, execution::StoredAnswer /*answer*/) {
    co_return nothing_remembered();
}

Task<Result<void>> State::release(execution::RepeatKey /*key*/) { co_return nothing_remembered(); }

Task<Result<void>> State::use_once(std::string /*mark*/, execution::WallTime /*expires*/) {
    co_return nothing_remembered();
}

execution::DailyUsage State::used_today(const std::string& principal) const {
    return {.principal = principal};
}

Task<Result<std::vector<execution::DailyUsage>>> State::usage(execution::UsageQuery /*query*/) {
    co_return nothing_remembered();
}

}  // namespace belljar::engine
