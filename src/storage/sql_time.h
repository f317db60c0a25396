#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "execution/conversation.h"
#include "storage/sqlite.h"

// Times and durations as they stand in the state database: microseconds.
namespace belljar::storage {

[[nodiscard]] inline std::int64_t to_sql(execution::WallTime time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

[[nodiscard]] inline SqlValue to_sql(const std::optional<execution::WallTime>& time) {
    return time ? SqlValue(to_sql(*time)) : SqlValue();
}

[[nodiscard]] inline std::int64_t to_sql(Duration duration) {
    return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

[[nodiscard]] inline execution::WallTime time_from_sql(const SqlValue& value) {
    return execution::WallTime(std::chrono::microseconds(value.integer()));
}

[[nodiscard]] inline std::optional<execution::WallTime> time_if_any(const SqlValue& value) {
    return value.is_null() ? std::nullopt : std::optional(time_from_sql(value));
}

[[nodiscard]] inline Duration duration_from_sql(const SqlValue& value) {
    return std::chrono::microseconds(value.integer());
}

}  // namespace belljar::storage
