#pragma once

#include <boost/json/object.hpp>

#include "access/token_book.h"
#include "base/json.h"
#include "base/result.h"

namespace belljar::api {

// A token as administrators see it: everything but the token.
[[nodiscard]] json::object token_json(const access::TokenRecord& record, access::WallTime now);
[[nodiscard]] json::object token_schema();
[[nodiscard]] json::object limits_schema();

// {"name", "roles", "expires", "limits"}; all but the name may be missing.
[[nodiscard]] Result<access::NewToken> read_new_token(const json::object& body,
                                                      access::WallTime now);
[[nodiscard]] json::object new_token_schema();

// What is to be another: "roles", "expires", and of "limits" those that are named, where null takes
// a limit of its own away.
[[nodiscard]] Result<access::TokenChange> read_token_change(
    const json::object& body, const execution::PrincipalLimits& limits_now, access::WallTime now);
[[nodiscard]] json::object token_change_schema();

}  // namespace belljar::api
