#include "api/query.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/percent.h"
#include "base/utc_time.h"
#include "base/utf8.h"

namespace belljar::api {

Result<Query> Query::parse(std::string_view query, std::initializer_list<std::string_view> known) {
    const std::optional<QueryValues> values = parse_query(query);
    if (!values) {
        return fail(ErrorCode::InvalidArgument,
                    "the query has a percent sign that encodes nothing");
    }
    Query parsed;
    for (const auto& [name, value] : *values) {
        if (std::ranges::find(known, name) == known.end()) {
            return fail(ErrorCode::InvalidArgument,
                        fmt::format("unknown parameter \"{}\"; allowed are {}", name.substr(0, 64),
                                    fmt::join(known, ", ")));
        }
        if (!is_valid_utf8(value) || value.contains('\0')) {
            return fail(ErrorCode::InvalidArgument, fmt::format("\"{}\" must be text", name));
        }
        if (!parsed.values_.emplace(name, value).second) {
            return fail(ErrorCode::InvalidArgument, fmt::format("\"{}\" is given twice", name));
        }
    }
    return parsed;
}

std::optional<std::string> Query::text(std::string_view name) const {
    const auto value = values_.find(name);
    return value == values_.end() ? std::nullopt : std::optional(value->second);
}

Result<std::optional<std::uint64_t>> Query::number(std::string_view name, Range range) const {
    const std::optional<std::string> given = text(name);
    if (!given) {
        return std::optional<std::uint64_t>();
    }
    std::uint64_t number = 0;
    const char* const last = given->data() + given->size();
    const auto [end, error] = std::from_chars(given->data(), last, number);
    if (error != std::errc{} || end != last || number < range.least || number > range.most) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("\"{}\" must be a whole number from {} to {}", name, range.least,
                                range.most));
    }
    return std::optional(number);
}

Result<std::optional<execution::WallTime>> Query::time(std::string_view name) const {
    const std::optional<std::string> given = text(name);
    const std::optional<execution::WallTime> time = given ? parse_utc(*given) : std::nullopt;
    if (given && !time) {
        return fail(
            ErrorCode::InvalidArgument,
            fmt::format("\"{}\" must be a time such as 2026-01-31T12:00:00Z, or a day", name));
    }
    return time;
}

}  // namespace belljar::api
