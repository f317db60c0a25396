#include "access/challenge.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "access/gate.h"
#include "base/json.h"

namespace belljar::access {
namespace {

constexpr std::string_view kHeader = "WWW-Authenticate";
constexpr std::string_view kRealm = "Bearer realm=\"belljar\"";

// The least that anything useful takes; whoever needs more is told so when it asks for it.
std::string first_scope() { return scope_of({Right::RunExec}); }

}  // namespace

std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char letter : text) {
        if (letter < ' ' || letter > '~') {
            continue;
        }
        if (letter == '"' || letter == '\\') {
            result += '\\';
        }
        result += letter;
    }
    return result + '"';
}

HttpResponse describe_resource(const ProtectedResource& resource) {
    json::array scopes;
    for (const Right right : kAllRights) {
        if (rights_of_role("user")->has(right)) {
            scopes.emplace_back(name_of(right));
        }
    }
    const json::object document{{"resource", resource.resource},
                                {"resource_name", "Belljar"},
                                {"authorization_servers", json::array{resource.issuer}},
                                {"scopes_supported", std::move(scopes)},
                                {"bearer_methods_supported", json::array{"header"}}};
    return {.body = to_text(document)};
}

HttpResponse ask_for_token(std::string_view metadata_url, std::string_view problem) {
    HttpResponse response = make_refusal(401, problem);
    response.headers.emplace_back(
        kHeader, metadata_url.empty() ? std::string(kRealm)
                                      : fmt::format("Bearer resource_metadata={}, scope={}",
                                                    quoted(metadata_url), quoted(first_scope())));
    return response;
}

HttpResponse refuse_token(std::string_view metadata_url, std::string_view problem) {
    HttpResponse response = ask_for_token(metadata_url, problem);
    if (!metadata_url.empty()) {
        response.headers.front().second +=
            fmt::format(", error=\"invalid_token\", error_description={}", quoted(problem));
    }
    return response;
}

HttpResponse insufficient_scope(const HttpRequest& request, const Rights& needed) {
    const std::string problem = fmt::format("this caller has no right to do that; missing: {}",
                                            scope_of(request.rights.missing(needed)));
    Rights wanted = request.rights;
    wanted.add(needed);
    const std::string& metadata = request.resource_metadata;
    const std::string place =
        metadata.empty() ? "" : "resource_metadata=" + quoted(metadata) + ", ";
    HttpResponse response = make_refusal(403, problem);
    response.headers.emplace_back(
        kHeader, fmt::format("{}error=\"insufficient_scope\", scope={}, {}error_description={}",
                             metadata.empty() ? std::string(kRealm) + ", " : "Bearer ",
                             quoted(scope_of(wanted)), place, quoted(problem)));
    return response;
}

}  // namespace belljar::access
