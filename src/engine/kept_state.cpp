#include "engine/kept_state.h"

#include <chrono>

#include "storage/request_book.h"

namespace belljar::engine {
namespace {

using Durability = DatabaseCalls::Durability;
using execution::DailyUsage;
using storage::SqliteDatabase;

constexpr std::size_t kKeySize = 512;  // roughly, with its digest

std::size_t answer_size(const execution::StoredAnswer& answer) {
    std::size_t size = answer.body.size();
    for (const auto& [name, value] : answer.headers) {
        size += name.size() + value.size();
    }
    return size;
}

std::string today() { return storage::day_of(std::chrono::system_clock::now()); }

}  // namespace

void KeptState::remember(const std::vector<DailyUsage>& today_so_far) {
    day_ = today();
    for (const DailyUsage& used : today_so_far) {
        if (used.day == day_) {
            today_[used.principal] = used;
        }
    }
}

void KeptState::count(DailyUsage more) {
    more.day = today();
    if (more.day != day_) {
        day_ = more.day;
        today_.clear();
    }
    DailyUsage& used = today_[more.principal];
    used.principal = more.principal;
    used.day = day_;
    used.runs += more.runs;
    used.cpu += more.cpu;
    calls_.note([more = std::move(more)](SqliteDatabase& database) {
        return storage::add_usage(database, more);
    });
}

Task<Result<execution::RepeatClaim>> KeptState::claim(execution::RepeatKey key) {
    DatabaseCalls::Work<execution::RepeatClaim> work =
        [key = std::move(key)](SqliteDatabase& database) {
            return storage::claim_key(database, key);
        };
    Result<execution::RepeatClaim> claimed =
        co_await calls_.ask<execution::RepeatClaim>(Durability::Now, std::move(work), kKeySize);
    co_return claimed;
}

Task<Result<void>> KeptState::settle(execution::RepeatKey key, execution::StoredAnswer answer) {
    const unsigned status = answer.status;
    const std::size_t size = kKeySize + answer_size(answer);
    DatabaseCalls::Work<void> work = [key, answer = std::move(answer)](SqliteDatabase& database) {
        return storage::settle_key(database, key, answer);
    };
    Result<void> settled = co_await calls_.ask<void>(Durability::Now, std::move(work), size);
    if (settled || settled.error().code != ErrorCode::Overloaded) {
        co_return settled;
    }
    // There is no room for the answer; what was done is not done again for that.
    DatabaseCalls::Work<void> mark = [key = std::move(key), status](SqliteDatabase& database) {
        return storage::settle_unkept(database, key, status);
    };
    settled = co_await calls_.ask<void>(Durability::Now, std::move(mark));
    co_return settled;
}

Task<Result<void>> KeptState::release(execution::RepeatKey key) {
    DatabaseCalls::Work<void> work = [key = std::move(key)](SqliteDatabase& database) {
        return storage::release_key(database, key);
    };
    Result<void> released = co_await calls_.ask<void>(Durability::Soon, std::move(work));
    co_return released;
}

Task<Result<void>> KeptState::use_once(std::string mark, execution::WallTime expires) {
    DatabaseCalls::Work<void> work = [mark = std::move(mark), expires](SqliteDatabase& database) {
        return storage::use_mark(database, mark, expires);
    };
    Result<void> used = co_await calls_.ask<void>(Durability::Now, std::move(work));
    co_return used;
}

DailyUsage KeptState::used_today(const std::string& principal) const {
    const std::string day = today();
    const auto found = today_.find(principal);
    if (day != day_ || found == today_.end()) {
        return {.principal = principal, .day = day};
    }
    return found->second;
}

Task<Result<std::vector<DailyUsage>>> KeptState::usage(execution::UsageQuery query) {
    DatabaseCalls::Work<std::vector<DailyUsage>> work =
        [query = std::move(query)](SqliteDatabase& database) {
            return storage::find_usage(database, query);
        };
    Result<std::vector<DailyUsage>> found =
        co_await calls_.ask<std::vector<DailyUsage>>(Durability::Soon, std::move(work));
    co_return found;
}

}  // namespace belljar::engine
