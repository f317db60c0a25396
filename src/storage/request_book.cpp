#include "storage/request_book.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/json.h"
#include "storage/sql_time.h"

namespace belljar::storage {
namespace {

using execution::RepeatClaim;
using execution::RepeatKey;
using execution::StoredAnswer;

constexpr auto kKeyLife = std::chrono::hours(24);
constexpr auto kUsageLife = std::chrono::hours(24 * 400);
constexpr std::int64_t kMostExpired = 500;
// Of one principal.
constexpr std::int64_t kMostKeys = 10'000;
constexpr std::int64_t kMostAnswerBytes = std::int64_t{64} * 1024 * 1024;
constexpr auto kKeysPause = std::chrono::minutes(5);  // until keys that have expired are gone

std::int64_t now() { return to_sql(std::chrono::system_clock::now()); }

std::string headers_text(const StoredAnswer& answer) {
    json::object headers;
    for (const auto& [name, value] : answer.headers) {
        headers[name] = value;
    }
    return to_text(headers);
}

StoredAnswer answer_of(const SqlRow& row) {
    StoredAnswer answer{.status = static_cast<unsigned>(row[1].integer()), .body = row[3].text()};
    const Result<json::value> headers = parse_json(row[2].text());
    if (headers && headers->is_object()) {
        for (const auto& [name, value] : headers->get_object()) {
            if (value.is_string()) {
                answer.headers.emplace(name, value.get_string());
            }
        }
    }
    return answer;
}

Result<void> check_keys(SqliteDatabase& database, const std::string& principal) {
    BJ_TRY(const SqlValue keys,
           database.value("SELECT keys FROM repeat_tallies WHERE principal = ?1", {principal}));
    if (keys.integer() <= kMostKeys) {  // with the one that comes
        return {};
    }
    return fail(Error{.code = ErrorCode::QuotaReached,
                      .message = fmt::format("there can be at most {} Idempotency-Keys of one "
                                             "caller within a day; leave it out, or wait",
                                             kMostKeys),
                      .retry_after = kKeysPause});
}

// That they were given is remembered.
Result<void> forget_answers(SqliteDatabase& database, const std::string& principal) {
    std::int64_t forgotten = 1;
    while (forgotten > 0) {
        BJ_TRY(
            const SqlValue bytes,
            database.value("SELECT bytes FROM repeat_tallies WHERE principal = ?1", {principal}));
        if (bytes.integer() <= kMostAnswerBytes) {
            return {};
        }
        BJ_TRY(forgotten, database.change(
                              "UPDATE repeat_keys SET headers = NULL, body = NULL, bytes = 0 "
                              "WHERE principal = ?1 AND key = (SELECT key FROM repeat_keys "
                              "WHERE principal = ?1 AND body IS NOT NULL ORDER BY expires LIMIT 1)",
                              {principal}));
    }
    return {};
}

}  // namespace

Result<RepeatClaim> claim_key(SqliteDatabase& database, const RepeatKey& key) {
    BJ_TRY_VOID(database.change(
        "DELETE FROM repeat_keys WHERE principal = ?1 AND key = ?2 AND expires <= ?3",
        {key.principal, key.key, now()}));
    BJ_TRY(const std::int64_t added,
           database.change("INSERT INTO repeat_keys (principal, key, digest, expires) "
                           "VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
                           {key.principal, key.key, key.digest,
                            to_sql(std::chrono::system_clock::now() + kKeyLife)}));
    if (added == 1) {
        BJ_TRY_VOID(check_keys(database, key.principal));
        return RepeatClaim{.kind = RepeatClaim::Kind::Fresh};
    }
    BJ_TRY(const std::vector<SqlRow> rows,
           database.query("SELECT digest, status, headers, body FROM repeat_keys "
                          "WHERE principal = ?1 AND key = ?2",
                          {key.principal, key.key}, 1));
    if (rows.empty()) {
        return fail(ErrorCode::Internal, "a key is neither there nor not");
    }
    if (rows.front()[0].text() != key.digest) {
        return RepeatClaim{.kind = RepeatClaim::Kind::Different};
    }
    if (rows.front()[1].is_null()) {
        return RepeatClaim{.kind = RepeatClaim::Kind::InProgress};
    }
    if (rows.front()[3].is_null()) {
        return RepeatClaim{.kind = RepeatClaim::Kind::Forgotten};
    }
    return RepeatClaim{.kind = RepeatClaim::Kind::Answered, .answer = answer_of(rows.front())};
}

Result<void> settle_key(SqliteDatabase& database, const RepeatKey& key,
                        const StoredAnswer& answer) {
    const std::string headers = headers_text(answer);
    BJ_TRY_VOID(database.change(
        "UPDATE repeat_keys SET status = ?4, headers = ?5, body = ?6, bytes = ?7 "
        "WHERE principal = ?1 AND key = ?2 AND digest = ?3",
        {key.principal, key.key, key.digest, static_cast<std::int64_t>(answer.status), headers,
         answer.body, SqlValue::of(headers.size() + answer.body.size())}));
    return forget_answers(database, key.principal);
}

Result<void> settle_unkept(SqliteDatabase& database, const RepeatKey& key, unsigned status) {
    BJ_TRY_VOID(database.change(
        "UPDATE repeat_keys SET status = ?4 WHERE principal = ?1 AND key = ?2 AND digest = ?3",
        {key.principal, key.key, key.digest, static_cast<std::int64_t>(status)}));
    return {};
}

Result<void> release_key(SqliteDatabase& database, const RepeatKey& key) {
    BJ_TRY_VOID(
        database.change("DELETE FROM repeat_keys WHERE principal = ?1 AND key = ?2 AND digest = ?3 "
                        "AND status IS NULL",
                        {key.principal, key.key, key.digest}));
    return {};
}

Result<void> release_open_keys(SqliteDatabase& database) {
    BJ_TRY_VOID(database.change("DELETE FROM repeat_keys WHERE status IS NULL"));
    return {};
}

Result<void> use_mark(SqliteDatabase& database, const std::string& mark,
                      execution::WallTime expires) {
    BJ_TRY(const std::int64_t added,
           database.change("INSERT INTO used_marks VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                           {mark, to_sql(expires)}));
    return added == 1 ? Result<void>{} : fail(ErrorCode::Conflict, "this was used before");
}

Result<void> add_usage(SqliteDatabase& database, const execution::DailyUsage& more) {
    BJ_TRY_VOID(database.change(
        "INSERT INTO daily_usage VALUES (?1, ?2, ?3, ?4) ON CONFLICT (principal, day) "
        "DO UPDATE SET runs = runs + ?3, cpu = cpu + ?4",
        {more.principal, more.day, SqlValue::of(more.runs), to_sql(more.cpu)}));
    return {};
}

Result<std::vector<execution::DailyUsage>> find_usage(SqliteDatabase& database,
                                                      const execution::UsageQuery& query) {
    BJ_TRY(const std::vector<SqlRow> rows,
           database.query("SELECT principal, day, runs, cpu FROM daily_usage "
                          "WHERE (?1 IS NULL OR principal = ?1) AND day >= ?2 "
                          "AND (?3 = '' OR day <= ?3) ORDER BY day DESC, principal LIMIT ?4",
                          {SqlValue::of(query.principal), query.from, query.to,
                           SqlValue::of(std::min<std::size_t>(query.limit, 100'000))}));
    std::vector<execution::DailyUsage> found;
    found.reserve(rows.size());
    for (const SqlRow& row : rows) {
        found.push_back({.principal = row[0].text(),
                         .day = row[1].text(),
                         .runs = static_cast<std::uint64_t>(row[2].integer()),
                         .cpu = duration_from_sql(row[3])});
    }
    return found;
}

std::string day_of(execution::WallTime time) {
    return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

Result<Upkeep> forget_requests(SqliteDatabase& database) {
    BJ_TRY(const std::int64_t keys,
           database.change("DELETE FROM repeat_keys WHERE (principal, key) IN (SELECT principal, "
                           "key FROM repeat_keys WHERE expires <= ?1 ORDER BY expires LIMIT ?2)",
                           {now(), kMostExpired}));
    BJ_TRY(const std::int64_t marks,
           database.change("DELETE FROM used_marks WHERE mark IN (SELECT mark FROM used_marks "
                           "WHERE expires <= ?1 ORDER BY expires LIMIT ?2)",
                           {now(), kMostExpired}));
    BJ_TRY(const std::int64_t days,
           database.change("DELETE FROM daily_usage WHERE (principal, day) IN (SELECT principal, "
                           "day FROM daily_usage WHERE day < ?1 ORDER BY day LIMIT ?2)",
                           {day_of(std::chrono::system_clock::now() - kUsageLife), kMostExpired}));
    return std::max({keys, marks, days}) == kMostExpired ? Upkeep::More : Upkeep::Nothing;
}

}  // namespace belljar::storage
