#pragma once

#include <optional>
#include <string>
#include <vector>

#include "access/http_message.h"

namespace belljar::access {

// A token, and the name of the principal that it stands for.
struct NamedToken {
    std::string principal{};
    std::string token{};
};

// The checks that every HTTP request passes before anybody looks at what it wants: Host and Origin
// (a web page must not reach us through the user's browser), then the token.
class Gate {
   public:
    struct Options {
        std::string token{};                       // empty: no token is asked for
        std::vector<NamedToken> named_tokens{};    // besides that one, whose principal has no name
        std::vector<std::string> allowed_hosts{};  // names besides the loopback ones
    };

    explicit Gate(Options options);

    // The refusal to send, or nothing if the request may go on.
    [[nodiscard]] std::optional<HttpResponse> check_names(const HttpRequest& request) const;
    [[nodiscard]] std::optional<HttpResponse> check_token(const HttpRequest& request) const;
    // Whose token it is, once it has been checked; empty for the one without a name.
    [[nodiscard]] std::string principal_of(const HttpRequest& request) const;

   private:
    [[nodiscard]] bool is_listed(const std::string& host) const;
    [[nodiscard]] const NamedToken* find_token(std::string_view given) const;

    Options options_;
    std::vector<NamedToken> tokens_;  // all of them
};

// The host of "example.org:8080" or "[::1]:8080", in lower case; nothing if it is malformed.
[[nodiscard]] std::optional<std::string> host_name(std::string_view authority);

// {"error": message}, the shape of every refusal outside JSON-RPC.
[[nodiscard]] HttpResponse make_refusal(unsigned status, std::string_view message);

}  // namespace belljar::access
