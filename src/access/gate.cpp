#include "access/gate.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <iterator>

#include "access/cross_origin.h"
#include "base/ascii.h"
#include "base/id.h"
#include "base/json.h"
#include "base/utf8.h"

namespace belljar::access {
namespace {

constexpr std::string_view kBearer = "bearer ";

// The token that the header holds; nothing if it has another form.
std::optional<std::string> bearer_token(const std::string& header) {
    if (to_lower(header.substr(0, kBearer.size())) != kBearer) {
        return std::nullopt;
    }
    return header.substr(kBearer.size());
}

bool is_address(const std::string& host) {
    std::array<unsigned char, sizeof(in6_addr)> parsed{};
    return ::inet_pton(AF_INET, host.c_str(), parsed.data()) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), parsed.data()) == 1;
}

bool is_port(std::string_view text) {
    return !text.empty() && text.size() <= 5 &&
           std::ranges::all_of(text, [](char letter) { return letter >= '0' && letter <= '9'; });
}

bool is_loopback(const std::string& host) {
    return host == "localhost" || host == "127.0.0.1" || host == "::1";
}

// "https://example.org:8080" without its scheme; empty for "null" and other oddities.
std::string origin_authority(const std::string& origin) {
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (origin.starts_with(scheme)) {
            return origin.substr(scheme.size());
        }
    }
    return "";
}

}  // namespace

std::optional<std::string> host_name(std::string_view authority) {
    const bool plain = std::ranges::all_of(
        authority, [](char letter) { return letter > ' ' && letter < 0x7F && letter != '%'; });
    if (!plain) {
        return std::nullopt;
    }
    std::size_t end = authority.rfind(':');
    if (authority.starts_with('[')) {
        const std::size_t bracket = authority.find(']');
        if (bracket == std::string_view::npos) {
            return std::nullopt;
        }
        const std::string_view rest = authority.substr(bracket + 1);
        if (!rest.empty() && (rest.front() != ':' || !is_port(rest.substr(1)))) {
            return std::nullopt;
        }
        return to_lower(authority.substr(1, bracket - 1));
    }
    if (end == std::string_view::npos) {
        end = authority.size();
    } else if (!is_port(authority.substr(end + 1))) {
        return std::nullopt;
    }
    const std::string name = to_lower(authority.substr(0, end));
    if (name.empty() || name.find_first_of("/@:") != std::string::npos) {
        return std::nullopt;
    }
    return name;
}

HttpResponse make_refusal(unsigned status, std::string_view message) {
    return {.status = status, .body = to_text(json::object{{"error", make_valid_utf8(message)}})};
}

Gate::Gate(Options options) : options_(std::move(options)) {
    take_tokens(options_.named_tokens);
    allow_hosts(options_.allowed_hosts);
}

void Gate::allow_hosts(std::vector<std::string> hosts) {
    for (std::string& host : hosts) {
        host = to_lower(host);
    }
    options_.allowed_hosts = std::move(hosts);
}

void Gate::take_tokens(std::vector<NamedToken> named_tokens) {
    tokens_ = std::move(named_tokens);
    tokens_.push_back({.token = options_.token});
}

std::optional<HttpResponse> Gate::check_names(const HttpRequest& request) const {
    const std::string host = request.header("Host").value_or("");
    const std::optional<std::string> name = host_name(host);
    // An attacker's page can point a name of its own at our address, but not a number.
    // Nor can it reach a Unix socket.
    const bool reachable = request.arrival == Arrival::Network;
    if (reachable && (!name || !(is_loopback(*name) || is_address(*name) || is_listed(*name)))) {
        return make_refusal(403,
                            "the Host header names no host of this server; use localhost or an "
                            "address, or add the name to server.allowed_hosts");
    }
    if (!request.headers.contains("Origin")) {
        return std::nullopt;
    }
    const std::string authority = origin_authority(request.header("Origin").value_or(""));
    const std::optional<std::string> from = host_name(authority);
    const bool same = to_lower(authority) == to_lower(host);
    if (!from || !(same || is_loopback(*from) || is_listed(*from))) {
        return make_refusal(403,
                            "the Origin header names a page that may not use this server; add its "
                            "host to server.allowed_hosts if it may");
    }
    return std::nullopt;
}

std::optional<HttpResponse> Gate::check(const HttpRequest& request, Door door) const {
    std::expected<Caller, HttpResponse> caller = examine(request, door);
    return caller ? std::nullopt : std::optional(std::move(caller.error()));
}

std::expected<Caller, HttpResponse> Gate::examine(const HttpRequest& request, Door door) const {
    if (std::optional<HttpResponse> refusal = check_names(request)) {
        return std::unexpected(std::move(*refusal));
    }
    if (std::optional<HttpResponse> answer = answer_preflight(request)) {
        return std::unexpected(std::move(*answer));
    }
    std::expected<Caller, HttpResponse> caller = Caller{.rights = {}};
    if (std::optional<HttpResponse> answer = answer_discovery(request)) {
        caller = std::unexpected(std::move(*answer));
    } else if (door == Door::Guarded) {
        caller = identify(request);
    }
    if (!caller) {
        std::ranges::move(cross_origin_headers(request),
                          std::back_inserter(caller.error().headers));
    }
    return caller;
}

std::optional<HttpResponse> Gate::admit(HttpRequest& request, Door door) const {
    std::expected<Caller, HttpResponse> caller = examine(request, door);
    if (!caller) {
        return std::move(caller.error());
    }
    request.principal = std::move(caller->principal);
    request.rights = caller->rights;
    request.tool_sets = std::move(caller->tool_sets);
    request.limits = caller->limits;
    request.resource_metadata = options_.resource.metadata_url;
    if (request.stream) {
        request.stream->add_headers(cross_origin_headers(request));
    }
    return std::nullopt;
}

std::optional<HttpResponse> Gate::check_token(const HttpRequest& request) const {
    std::expected<Caller, HttpResponse> caller = identify(request);
    return caller ? std::nullopt : std::optional(std::move(caller.error()));
}

std::expected<Caller, HttpResponse> Gate::identify(const HttpRequest& request) const {
    if (options_.token.empty()) {
        return Caller{};
    }
    const std::string& metadata = options_.resource.metadata_url;
    const std::optional<std::string> header = request.header("Authorization");
    if (!header) {
        return std::unexpected(ask_for_token(
            metadata, "a token is needed: send the header \"Authorization: Bearer TOKEN\""));
    }
    const std::optional<std::string> given = bearer_token(*header);
    if (!given) {
        return std::unexpected(ask_for_token(
            metadata, "the Authorization header must have the form \"Bearer TOKEN\""));
    }
    Result<Caller> caller = find_caller(*given);
    if (caller) {
        return std::move(*caller);
    }
    if (caller.error().code == ErrorCode::Unavailable) {
        HttpResponse later = make_refusal(503, caller.error().message);
        later.headers.emplace_back("Retry-After", "1");
        return std::unexpected(std::move(later));
    }
    return std::unexpected(refuse_token(metadata, caller.error().message));
}

Result<Caller> Gate::find_caller(std::string_view given) const {
    const std::chrono::system_clock::time_point now = std::chrono::system_clock::now();
    if (const NamedToken* found = find_token(given)) {
        return Caller{.principal = found->principal, .proof = Proof::Token};
    }
    if (options_.stored_tokens != nullptr) {
        Result<Caller> caller =
            options_.stored_tokens->find(given, std::chrono::floor<std::chrono::seconds>(now));
        if (caller || caller.error().code != ErrorCode::NotFound) {
            return caller;
        }
    }
    if (options_.access_tokens != nullptr && looks_like_access_token(given)) {
        return options_.access_tokens->check(given, now);
    }
    return fail(ErrorCode::Unauthenticated, "the token is not valid");
}

std::optional<HttpResponse> Gate::answer_discovery(const HttpRequest& request) const {
    constexpr std::string_view kDocument = "/.well-known/oauth-protected-resource";
    if (!request.path.starts_with("/.well-known/") && request.path != "/register") {
        return std::nullopt;
    }
    const bool described =
        request.path == kDocument || request.path == std::string(kDocument) + "/mcp";
    if (options_.access_tokens == nullptr || !described) {
        return make_refusal(404, "nothing is here; this server gives out no tokens");
    }
    if (request.method != "GET" && request.method != "HEAD") {
        HttpResponse refusal = make_refusal(405, "this path does not take that method");
        refusal.headers.emplace_back("Allow", "GET, HEAD");
        return refusal;
    }
    return describe_resource(options_.resource);
}

// Looks at every token, so that the time tells nothing of where the right one stands.
const NamedToken* Gate::find_token(std::string_view given) const {
    const NamedToken* found = nullptr;
    for (const NamedToken& token : tokens_) {
        if (equal_in_constant_time(given, token.token)) {
            found = &token;
        }
    }
    return found;
}

bool Gate::is_listed(const std::string& host) const {
    return std::ranges::find(options_.allowed_hosts, host) != options_.allowed_hosts.end();
}

}  // namespace belljar::access
