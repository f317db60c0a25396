#pragma once

#include <expected>
#include <utility>

#include "base/error.h"

namespace belljar {

// The value, or the Error that prevented it. A class and not an alias, because only a class carries
// [[nodiscard]] to every function that returns it.
template <typename T>
class [[nodiscard]] Result : public std::expected<T, Error> {
   public:
    using std::expected<T, Error>::expected;
};

[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string message) {
    return std::unexpected(Error{.code = code, .message = std::move(message)});
}

[[nodiscard]] inline std::unexpected<Error> fail(Error error) {
    return std::unexpected(std::move(error));
}

}  // namespace belljar

#define BJ_JOIN_INNER(left, right) left##right
#define BJ_JOIN(left, right) BJ_JOIN_INNER(left, right)

// BJ_TRY(const Plan plan, decide(request)); declares `plan`, or returns the error.
#define BJ_TRY(declaration, ...) \
    BJ_TRY_WITH(return, BJ_JOIN(bj_result_, __LINE__), declaration, __VA_ARGS__)
#define BJ_CO_TRY(declaration, ...) \
    BJ_TRY_WITH(co_return, BJ_JOIN(bj_result_, __LINE__), declaration, __VA_ARGS__)
#define BJ_TRY_WITH(leave, result, declaration, ...)      \
    auto result = __VA_ARGS__;                            \
    if (!result) {                                        \
        leave ::belljar::fail(std::move(result).error()); \
    }                                                     \
    declaration = std::move(*result)

// BJ_TRY_VOID(step()); returns the error of a Result<void>.
#define BJ_TRY_VOID(...)                                      \
    if (auto bj_result = __VA_ARGS__; !bj_result) {           \
        return ::belljar::fail(std::move(bj_result).error()); \
    }                                                         \
    static_assert(true)
#define BJ_CO_TRY_VOID(...)                                      \
    if (auto bj_result = __VA_ARGS__; !bj_result) {              \
        co_return ::belljar::fail(std::move(bj_result).error()); \
    }                                                            \
    static_assert(true)
