#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace belljar::storage {

// A value of a row or a parameter; the first alternative is NULL.
class SqlValue : public std::variant<std::monostate, std::int64_t, double, std::string> {
   public:
    using variant::variant;

    [[nodiscard]] bool is_null() const { return index() == 0; }
    // As far as it is one, or else 0, 0.0 and "".
    [[nodiscard]] std::int64_t integer() const;
    [[nodiscard]] double number() const;
    [[nodiscard]] const std::string& text() const;
    [[nodiscard]] std::optional<std::string> text_if_any() const;
    [[nodiscard]] static SqlValue of(const std::optional<std::string>& text);
    [[nodiscard]] static SqlValue of(std::uint64_t number);
};

using SqlRow = std::vector<SqlValue>;

// A database, used by the thread that opens it alone. Whatever is not our own text is bound and
// never part of a statement. Errors: StorageFull; Unavailable for a file that is damaged; Internal.
class SqliteDatabase {
   public:
    // Makes the file if it is not there. The path is used as it is.
    static Result<SqliteDatabase> open(const std::string& path);

    // Statements of ours without parameters and rows, several at a time.
    Result<void> run(const std::string& statements);
    // One statement, prepared once; the number of rows that it changed.
    Result<std::int64_t> change(std::string_view statement,
                                const std::vector<SqlValue>& parameters = {});
    // At most `most` rows.
    Result<std::vector<SqlRow>> query(std::string_view statement,
                                      const std::vector<SqlValue>& parameters = {},
                                      std::size_t most = kMostRows);
    // The first value of the first row.
    Result<SqlValue> value(std::string_view statement,
                           const std::vector<SqlValue>& parameters = {});
    // Whether a transaction is open; some failures end one.
    [[nodiscard]] bool in_transaction() const;

    static constexpr std::size_t kMostRows = 100'000;

   private:
    struct Close {
        void operator()(sqlite3* database) const;
    };
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };

    SqliteDatabase() = default;
    Result<sqlite3_stmt*> prepare(std::string_view statement,
                                  const std::vector<SqlValue>& parameters);
    [[nodiscard]] std::unexpected<Error> failure(int code) const;

    std::unique_ptr<sqlite3, Close> database_;
    std::map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, std::less<>> prepared_;
};

}  // namespace belljar::storage
