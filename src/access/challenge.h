#pragma once

#include <string>
#include <string_view>

#include "access/http_message.h"
#include "access/rights.h"

namespace belljar::access {

// What this server is to OAuth clients (RFC 9728). Empty: access tokens are not taken here.
struct ProtectedResource {
    std::string resource{};      // the address of the MCP endpoint
    std::string issuer{};        // the authorization server
    std::string metadata_url{};  // where the document below is read
};

// The document that tells a client where to get a token.
[[nodiscard]] HttpResponse describe_resource(const ProtectedResource& resource);

// 401 for a caller that shows no token, or one that is no good; `problem` says what to do.
// `metadata_url` is empty where access tokens are not taken.
[[nodiscard]] HttpResponse ask_for_token(std::string_view metadata_url, std::string_view problem);
[[nodiscard]] HttpResponse refuse_token(std::string_view metadata_url, std::string_view problem);

// 403 for a caller that lacks some of the rights that `request` takes. The challenge names these
// and the ones that the caller has, so that a new token is not worse than the old one.
[[nodiscard]] HttpResponse insufficient_scope(const HttpRequest& request, const Rights& needed);

// "text" with quotes and backslashes escaped; what no header may hold is left out.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace belljar::access
