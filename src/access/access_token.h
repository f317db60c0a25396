#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "access/key_set.h"
#include "access/rights.h"
#include "base/result.h"

namespace belljar::access {

// OAuth access tokens in the form of a JWT (RFC 9068), signed by one authorization server for this
// one resource. Whatever is not understood completely is refused. Borrows the keys.
class AccessTokens {
   public:
    struct Rules {
        std::string issuer{};
        std::string audience{};
        std::string scopes_claim = "scope";
        std::string roles_claim{};  // empty: none; "a.b" is b in the object a
        std::vector<Algorithm> algorithms{};
    };

    AccessTokens(Rules rules, KeySource& keys) : rules_(std::move(rules)), keys_(keys) {}

    // Who it was given to, as "oauth:SUBJECT", and what it allows. Unauthenticated with the reason;
    // Unavailable if its key may be known in a moment.
    [[nodiscard]] Result<Caller> check(std::string_view token,
                                       std::chrono::system_clock::time_point now);

   private:
    [[nodiscard]] Result<std::string> open(std::string_view token);
    [[nodiscard]] Result<Caller> read_claims(std::string_view payload,
                                             std::chrono::system_clock::time_point now) const;

    Rules rules_;
    KeySource& keys_;
};

// Whether it has the outer form of a JWT, three parts with dots between them.
[[nodiscard]] bool looks_like_access_token(std::string_view token);

}  // namespace belljar::access
