#include "storage/run_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "storage/sql_time.h"

namespace belljar::storage {
namespace {

using execution::RunQuery;
using execution::RunRecord;
using execution::RunState;
using execution::RunView;
using execution::Status;

constexpr std::size_t kLargestPage = 1000;
constexpr std::int64_t kMostForgotten = 500;

constexpr std::string_view kColumns =
    "number, execution_id, principal, conversation_id, session_id, language, state, status, "
    "failure, exit_code, created, started, ended, wall, cpu, memory_peak, disk_written, "
    "processes_peak, output_bytes, denials, code_sha256, code_bytes, grade, label, trace";

std::optional<Status> parse_status(std::string_view name) {
    for (int value = 0; value <= static_cast<int>(Status::Cancelled); ++value) {
        if (name_of(static_cast<Status>(value)) == name) {
            return static_cast<Status>(value);
        }
    }
    return std::nullopt;
}

std::uint64_t count_of(const SqlValue& value) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(value.integer(), 0));
}

// In the order of kColumns.
RunView view_of(const SqlRow& row) {
    RunView view{.execution_id = row[1].text(),
                 .principal = row[2].text(),
                 .conversation_id = row[3].text_if_any(),
                 .session_id = row[4].text_if_any(),
                 .language = row[5].text(),
                 .state = execution::parse_run_state(row[6].text()).value_or(RunState::Ended),
                 .status = parse_status(row[7].text()),
                 .failure = row[8].text_if_any(),
                 .created = time_from_sql(row[10]),
                 .started = time_if_any(row[11]),
                 .ended = time_if_any(row[12]),
                 .usage = {.wall = duration_from_sql(row[13]),
                           .cpu = duration_from_sql(row[14]),
                           .memory_peak_bytes = count_of(row[15]),
                           .disk_written_bytes = count_of(row[16]),
                           .processes_peak = count_of(row[17])},
                 .output_bytes = count_of(row[18]),
                 .denials = count_of(row[19]),
                 .code_sha256 = row[20].text(),
                 .code_bytes = count_of(row[21]),
                 .grade = row[22].text(),
                 .label = row[23].text_if_any(),
                 .trace = row[24].text_if_any()};
    if (!row[9].is_null()) {
        view.exit_code = static_cast<int>(row[9].integer());
    }
    return view;
}

std::vector<SqlValue> values_of(const RunView& view) {
    return {view.execution_id,
            view.principal,
            SqlValue::of(view.conversation_id),
            SqlValue::of(view.session_id),
            view.language,
            std::string(name_of(view.state)),
            view.status ? SqlValue(std::string(name_of(*view.status))) : SqlValue(),
            SqlValue::of(view.failure),
            view.exit_code ? SqlValue(static_cast<std::int64_t>(*view.exit_code)) : SqlValue(),
            to_sql(view.created),
            to_sql(view.started),
            to_sql(view.ended),
            to_sql(view.usage.wall),
            to_sql(view.usage.cpu),
            SqlValue::of(view.usage.memory_peak_bytes),
            SqlValue::of(view.usage.disk_written_bytes),
            SqlValue::of(view.usage.processes_peak),
            SqlValue::of(view.output_bytes),
            SqlValue::of(view.denials),
            view.code_sha256,
            SqlValue::of(view.code_bytes),
            view.grade,
            SqlValue::of(view.label),
            SqlValue::of(view.trace)};
}

// The conditions of a query, as text of ours and values to bind.
struct Conditions {
    std::string text = "1";
    std::vector<SqlValue> values{};

    void add(std::string_view condition, SqlValue value) {
        values.push_back(std::move(value));
        text += fmt::format(" AND {} ?{}", condition, values.size());
    }
    void add_if(std::string_view condition, const std::optional<std::string>& value) {
        if (value) {
            add(condition, *value);
        }
    }
};

Result<Conditions> conditions_of(const RunQuery& query) {
    Conditions all;
    all.add_if("principal =", query.principal);
    all.add_if("language =", query.language);
    all.add_if("conversation_id =", query.conversation_id);
    all.add_if("session_id =", query.session_id);
    if (query.state) {
        all.add("state =", std::string(name_of(*query.state)));
    }
    if (query.status) {
        all.add("status =", std::string(name_of(*query.status)));
    }
    if (query.since) {
        all.add("created >=", to_sql(*query.since));
    }
    if (query.until) {
        all.add("created <", to_sql(*query.until));
    }
    if (!query.after.empty()) {
        std::int64_t number = 0;
        const char* const end = query.after.data() + query.after.size();
        const auto read = std::from_chars(query.after.data(), end, number, 16);
        if (read.ec != std::errc() || read.ptr != end || number <= 0) {
            return fail(ErrorCode::InvalidArgument,
                        "the cursor is not one that a page of this list has given");
        }
        all.add("number <", number);
    }
    return all;
}

}  // namespace

Result<void> write_run(SqliteDatabase& database, const RunRecord& record) {
    std::vector<SqlValue> values = values_of(record.view);
    BJ_TRY_VOID(database.change(
        "INSERT INTO runs (execution_id, principal, conversation_id, session_id, language, state, "
        "status, failure, exit_code, created, started, ended, wall, cpu, memory_peak, "
        "disk_written, processes_peak, output_bytes, denials, code_sha256, code_bytes, grade, "
        "label, trace) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, "
        "?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24) ON CONFLICT (execution_id) DO UPDATE SET "
        "session_id = ?4, language = ?5, state = ?6, status = ?7, failure = ?8, exit_code = ?9, "
        "started = ?11, ended = ?12, wall = ?13, cpu = ?14, memory_peak = ?15, disk_written = ?16, "
        "processes_peak = ?17, output_bytes = ?18, denials = ?19, grade = ?22",
        values));
    if (record.result) {
        BJ_TRY_VOID(
            database.change("INSERT OR REPLACE INTO run_results SELECT number, ?2 FROM runs "
                            "WHERE execution_id = ?1",
                            {record.view.execution_id, *record.result}));
    }
    return {};
}

Result<execution::RunPage> list_runs(SqliteDatabase& database, const RunQuery& query) {
    BJ_TRY(Conditions conditions, conditions_of(query));
    const std::size_t limit = std::clamp<std::size_t>(query.limit, 1, kLargestPage);
    conditions.values.push_back(SqlValue::of(limit + 1));
    BJ_TRY(std::vector<SqlRow> rows,
           database.query(fmt::format("SELECT {} FROM runs WHERE {} ORDER BY number DESC LIMIT ?{}",
                                      kColumns, conditions.text, conditions.values.size()),
                          conditions.values));
    execution::RunPage page;
    if (rows.size() > limit) {
        rows.pop_back();
        page.next = fmt::format("{:x}", rows.back()[0].integer());
    }
    for (const SqlRow& row : rows) {
        page.runs.push_back(view_of(row));
    }
    return page;
}

Result<RunRecord> find_run(SqliteDatabase& database, const std::optional<std::string>& principal,
                           const std::string& execution_id) {
    BJ_TRY(const std::vector<SqlRow> rows,
           database.query(fmt::format("SELECT {}, (SELECT result FROM run_results WHERE number = "
                                      "runs.number) FROM runs WHERE execution_id = ?1",
                                      kColumns),
                          {execution_id}, 1));
    if (rows.empty() || (principal && rows.front()[2].text() != *principal)) {
        return fail(ErrorCode::NotFound, "there is no such run");
    }
    return RunRecord{.view = view_of(rows.front()), .result = rows.front().back().text_if_any()};
}

Result<void> end_open_runs(SqliteDatabase& database, const std::string& failure) {
    BJ_TRY_VOID(
        database.change("UPDATE runs SET state = 'ended', failure = ?1, ended = ?2 "
                        "WHERE state <> 'ended'",
                        {failure, to_sql(std::chrono::system_clock::now())}));
    return {};
}

Result<Upkeep> forget_runs(SqliteDatabase& database, const RunBounds& bounds) {
    const auto oldest = to_sql(std::chrono::system_clock::now() - bounds.age);
    BJ_TRY(const std::int64_t too_old,
           database.change(
               "DELETE FROM runs WHERE number IN (SELECT number FROM runs WHERE created < ?1 "
               "AND state = 'ended' ORDER BY created LIMIT ?2)",
               {oldest, kMostForgotten}));
    BJ_TRY(const std::int64_t too_many,
           database.change(
               "DELETE FROM runs WHERE number IN (SELECT number FROM runs WHERE number <= "
               "coalesce((SELECT number FROM runs ORDER BY number DESC LIMIT 1 OFFSET ?1), 0) "
               "AND state = 'ended' ORDER BY number LIMIT ?2)",
               {SqlValue::of(bounds.count), kMostForgotten}));
    return std::max(too_old, too_many) == kMostForgotten ? Upkeep::More : Upkeep::Nothing;
}

}  // namespace belljar::storage
