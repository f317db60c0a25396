#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "storage/conversation_store.h"

// Which conversations a ConversationStore removes by itself.
namespace belljar::storage {
namespace {

using execution::CleanupOrder;
using execution::CleanupReport;
using execution::ConversationView;
using Reason = CleanupReport::Reason;

std::optional<Reason> reason_for(const ConversationView& view, const CleanupOrder& order) {
    const auto now = std::chrono::system_clock::now();
    if (order.idle && now - view.last_used >= *order.idle) {
        return Reason::Idle;
    }
    if (order.age && now - view.created >= *order.age) {
        return Reason::Age;
    }
    return std::nullopt;
}

}  // namespace

bool ConversationStore::remove_unused(const Found& found, CleanupOrder::Mode mode) const {
    const execution::WallTime last_used = found.directory.last_used();
    const Result<Fd> turn = found.directory.take_turn();
    const Result<Fd> lock =
        turn ? found.directory.lock(ConversationDirectory::Lock::Exclusive, Clock::now())
             : fail(turn.error());
    if (!lock || found.directory.last_used() != last_used) {
        return false;
    }
    return mode == CleanupOrder::Mode::DryRun || take_away(found.of).has_value();
}

Result<CleanupReport> ConversationStore::clean_up(const CleanupOrder& order) const {
    struct Candidate {
        Found found;
        ConversationView view;
        std::optional<Reason> reason;
    };
    std::vector<Candidate> all;
    std::uint64_t kept = 0;
    for (Found& found : find_all(order.principal)) {
        ConversationView view = view_of(found);
        const std::optional<Reason> reason = reason_for(view, order);
        kept += reason ? 0 : view.bytes;
        all.push_back({.found = std::move(found), .view = std::move(view), .reason = reason});
    }
    std::ranges::sort(all, {}, [](const Candidate& candidate) { return candidate.view.last_used; });
    CleanupReport report{.conversations = all.size()};
    for (Candidate& candidate : all) {
        if (!candidate.reason && order.total_bytes && kept > *order.total_bytes) {
            candidate.reason = Reason::Space;
            kept -= std::min(kept, candidate.view.bytes);
        }
        if (!candidate.reason) {
            continue;
        }
        const bool busy = std::ranges::find(order.busy, candidate.found.of) != order.busy.end();
        if (busy || !remove_unused(candidate.found, order.mode)) {
            ++report.in_use;
            continue;
        }
        report.bytes += candidate.view.bytes;
        report.removals.push_back(
            {.conversation = std::move(candidate.view), .reason = *candidate.reason});
    }
    return report;
}

}  // namespace belljar::storage
