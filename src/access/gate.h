#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "access/access_token.h"
#include "access/challenge.h"
#include "access/http_message.h"
#include "access/token_book.h"

namespace belljar::access {

// A token, and the name of the principal that it stands for. It gives all rights.
struct NamedToken {
    std::string principal{};
    std::string token{};
};

// The checks that every HTTP request passes before anybody looks at what it wants: Host and Origin
// (a web page must not reach us through the user's browser), then the token. Used on the I/O
// thread.
class Gate {
   public:
    struct Options {
        std::string token{};                       // empty: no token is asked for
        std::vector<NamedToken> named_tokens{};    // besides that one, whose principal has no name
        std::vector<std::string> allowed_hosts{};  // names besides the loopback ones
        TokenBook* stored_tokens = nullptr;        // both are borrowed, and need a token above
        AccessTokens* access_tokens = nullptr;
        ProtectedResource resource{};  // with access tokens
    };

    // Whether a path is answered without a token.
    enum class Door { Open, Guarded };

    explicit Gate(Options options);

    // For requests from now on.
    void allow_hosts(std::vector<std::string> hosts);
    void take_tokens(std::vector<NamedToken> named_tokens);

    // All checks in their order: the answer to send at once, or nothing if the request may go on.
    // Questions of browsers and of OAuth clients are answered here, too.
    [[nodiscard]] std::optional<HttpResponse> check(const HttpRequest& request, Door door) const;
    // The same with who sends it; behind an open door that is nobody.
    [[nodiscard]] std::expected<Caller, HttpResponse> examine(const HttpRequest& request,
                                                              Door door) const;
    // Writes into the request who sends it and what that caller may do; fails as check() does.
    [[nodiscard]] std::optional<HttpResponse> admit(HttpRequest& request, Door door) const;

    [[nodiscard]] std::optional<HttpResponse> check_names(const HttpRequest& request) const;
    [[nodiscard]] std::optional<HttpResponse> check_token(const HttpRequest& request) const;
    // Who shows this token, or the refusal.
    [[nodiscard]] std::expected<Caller, HttpResponse> identify(const HttpRequest& request) const;

   private:
    [[nodiscard]] bool is_listed(const std::string& host) const;
    [[nodiscard]] const NamedToken* find_token(std::string_view given) const;
    [[nodiscard]] Result<Caller> find_caller(std::string_view given) const;
    // What is asked of every server by clients that look for an authorization server.
    [[nodiscard]] std::optional<HttpResponse> answer_discovery(const HttpRequest& request) const;

    Options options_;
    std::vector<NamedToken> tokens_;  // all of them
};

// The host of "example.org:8080" or "[::1]:8080", in lower case; nothing if it is malformed.
[[nodiscard]] std::optional<std::string> host_name(std::string_view authority);

// {"error": message}, the shape of every refusal outside JSON-RPC.
[[nodiscard]] HttpResponse make_refusal(unsigned status, std::string_view message);

}  // namespace belljar::access
