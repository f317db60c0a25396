#include "storage/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstring>
#include <mutex>

namespace belljar::storage {
namespace {

constexpr const char* kVfs = "belljar";
constexpr int kPatienceMs = 5000;  // with another process that looks into the file

// SQLite would find out where the file is and look at every directory above, which the server's
// account may not be allowed to do. Paths stay as they are.
int keep_name(sqlite3_vfs* /*vfs*/, const char* name, int room, char* full) {
    const std::size_t length = std::strlen(name);
    if (length + 1 > static_cast<std::size_t>(room)) {
        return SQLITE_CANTOPEN;
    }
    std::memcpy(full, name, length + 1);
    return SQLITE_OK;
}

void make_vfs() {
    static std::once_flag once;
    static sqlite3_vfs vfs;  // as long as the process
    std::call_once(once, [] {
        vfs = *sqlite3_vfs_find("unix");
        vfs.zName = kVfs;
        vfs.pNext = nullptr;
        vfs.xFullPathname = keep_name;
        sqlite3_vfs_register(&vfs, 0);
    });
}

int bind(sqlite3_stmt* statement, int place, const SqlValue& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
        return sqlite3_bind_int64(statement, place, *integer);
    }
    if (const auto* number = std::get_if<double>(&value)) {
        return sqlite3_bind_double(statement, place, *number);
    }
    if (const auto* text = std::get_if<std::string>(&value)) {
        return sqlite3_bind_text64(statement, place, text->data(), text->size(), SQLITE_TRANSIENT,
                                   SQLITE_UTF8);
    }
    return sqlite3_bind_null(statement, place);
}

SqlValue column(sqlite3_stmt* statement, int place) {
    switch (sqlite3_column_type(statement, place)) {
        case SQLITE_INTEGER:
            return static_cast<std::int64_t>(sqlite3_column_int64(statement, place));
        case SQLITE_FLOAT:
            return sqlite3_column_double(statement, place);
        case SQLITE_NULL:
            return {};
        default:
            break;
    }
    const void* const bytes = sqlite3_column_blob(statement, place);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, place));
    return std::string(static_cast<const char*>(bytes), bytes == nullptr ? 0 : size);
}

SqlRow row_of(sqlite3_stmt* statement) {
    SqlRow row;
    const int columns = sqlite3_column_count(statement);
    row.reserve(static_cast<std::size_t>(columns));
    for (int place = 0; place < columns; ++place) {
        row.push_back(column(statement, place));
    }
    return row;
}

// A statement whose parameters and rows are gone when it is left.
class Reset {
   public:
    explicit Reset(sqlite3_stmt* statement) : statement_(statement) {}
    Reset(const Reset&) = delete;
    Reset& operator=(const Reset&) = delete;
    ~Reset() {
        sqlite3_reset(statement_);
        sqlite3_clear_bindings(statement_);
    }

   private:
    sqlite3_stmt* statement_;
};

}  // namespace

std::int64_t SqlValue::integer() const {
    const auto* value = std::get_if<std::int64_t>(this);
    return value == nullptr ? 0 : *value;
}

double SqlValue::number() const {
    const auto* value = std::get_if<double>(this);
    return value == nullptr ? static_cast<double>(integer()) : *value;
}

const std::string& SqlValue::text() const {
    static const std::string kNone;
    const auto* value = std::get_if<std::string>(this);
    return value == nullptr ? kNone : *value;
}

std::optional<std::string> SqlValue::text_if_any() const {
    return is_null() ? std::nullopt : std::optional(text());
}

SqlValue SqlValue::of(const std::optional<std::string>& text) {
    return text ? SqlValue(*text) : SqlValue();
}

SqlValue SqlValue::of(std::uint64_t number) { return static_cast<std::int64_t>(number); }

void SqliteDatabase::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

void SqliteDatabase::Finalize::operator()(sqlite3_stmt* statement) const {
    sqlite3_finalize(statement);
}

Result<SqliteDatabase> SqliteDatabase::open(const std::string& path) {
    make_vfs();
    SqliteDatabase opened;
    sqlite3* database = nullptr;
    constexpr int kFlags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    const int code = sqlite3_open_v2(path.c_str(), &database, kFlags, kVfs);
    opened.database_.reset(database);
    if (code != SQLITE_OK) {
        return opened.failure(code);
    }
    sqlite3_extended_result_codes(database, 1);
    sqlite3_busy_timeout(database, kPatienceMs);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    // Who closes a file without having used it leaves it as it was.
    sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    return opened;
}

std::unexpected<Error> SqliteDatabase::failure(int code) const {
    const char* const words =
        database_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database_.get());
    Error error{.code = ErrorCode::Internal,
                .message = "the state database failed",
                .where = fmt::format("SQLite {}: {}", code, words)};
    switch (code & 0xff) {
        case SQLITE_FULL:
            error.code = ErrorCode::StorageFull;
            error.message = "there is no room left on the server's disk";
            break;
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
            error.code = ErrorCode::Unavailable;
            error.message = "the state database is damaged";
            break;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            error.code = ErrorCode::Unavailable;
            error.message = "the state database is in use by another program";
            break;
        default:
            break;
    }
    return fail(std::move(error));
}

Result<void> SqliteDatabase::run(const std::string& statements) {
    const int code = sqlite3_exec(database_.get(), statements.c_str(), nullptr, nullptr, nullptr);
    return code == SQLITE_OK ? Result<void>{} : failure(code);
}

Result<sqlite3_stmt*> SqliteDatabase::prepare(std::string_view statement,
                                              const std::vector<SqlValue>& parameters) {
    auto found = prepared_.find(statement);
    if (found == prepared_.end()) {
        sqlite3_stmt* made = nullptr;
        const int code = sqlite3_prepare_v3(database_.get(), statement.data(),
                                            static_cast<int>(statement.size()),
                                            SQLITE_PREPARE_PERSISTENT, &made, nullptr);
        if (code != SQLITE_OK) {
            return failure(code);
        }
        found = prepared_.emplace(std::string(statement), made).first;
    }
    for (std::size_t index = 0; index < parameters.size(); ++index) {
        const int code = bind(found->second.get(), static_cast<int>(index) + 1, parameters[index]);
        if (code != SQLITE_OK) {
            return failure(code);
        }
    }
    return found->second.get();
}

Result<std::int64_t> SqliteDatabase::change(std::string_view statement,
                                            const std::vector<SqlValue>& parameters) {
    BJ_TRY(sqlite3_stmt* const prepared, prepare(statement, parameters));
    const Reset reset(prepared);
    const int code = sqlite3_step(prepared);
    if (code != SQLITE_DONE && code != SQLITE_ROW) {
        return failure(code);
    }
    return sqlite3_changes64(database_.get());
}

Result<std::vector<SqlRow>> SqliteDatabase::query(std::string_view statement,
                                                  const std::vector<SqlValue>& parameters,
                                                  std::size_t most) {
    BJ_TRY(sqlite3_stmt* const prepared, prepare(statement, parameters));
    const Reset reset(prepared);
    std::vector<SqlRow> rows;
    while (rows.size() < most) {
        const int code = sqlite3_step(prepared);
        if (code == SQLITE_DONE) {
            break;
        }
        if (code != SQLITE_ROW) {
            return failure(code);
        }
        rows.push_back(row_of(prepared));
    }
    return rows;
}

Result<SqlValue> SqliteDatabase::value(std::string_view statement,
                                       const std::vector<SqlValue>& parameters) {
    BJ_TRY(std::vector<SqlRow> rows, query(statement, parameters, 1));
    if (rows.empty() || rows.front().empty()) {
        return SqlValue();
    }
    return std::move(rows.front().front());
}

bool SqliteDatabase::in_transaction() const { return sqlite3_get_autocommit(database_.get()) == 0; }

}  // namespace belljar::storage
