#include "access/gate.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>

#include "base/id.h"
#include "base/json.h"
#include "base/utf8.h"

namespace belljar::access {
namespace {

constexpr std::string_view kBearer = "bearer ";

char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](char letter) { return lower(letter); });
    return result;
}

// An attacker's web page can point a name of its own at our address, but not a number.
bool is_address(const std::string& host) {
    std::array<unsigned char, sizeof(in6_addr)> parsed{};
    return ::inet_pton(AF_INET, host.c_str(), parsed.data()) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), parsed.data()) == 1;
}

bool is_port(std::string_view text) {
    return !text.empty() && text.size() <= 5 &&
           std::ranges::all_of(text, [](char letter) { return letter >= '0' && letter <= '9'; });
}

// "https://example.org:8080" without its scheme; nothing for "null" and other oddities.
std::optional<std::string> origin_host(std::string_view origin) {
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (origin.starts_with(scheme)) {
            return host_name(origin.substr(scheme.size()));
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> host_name(std::string_view authority) {
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
        return lower(authority.substr(1, bracket - 1));
    }
    if (end == std::string_view::npos) {
        end = authority.size();
    } else if (!is_port(authority.substr(end + 1))) {
        return std::nullopt;
    }
    const std::string name = lower(authority.substr(0, end));
    if (name.empty() || name.find_first_of("/@ \t:") != std::string::npos) {
        return std::nullopt;
    }
    return name;
}

HttpResponse make_refusal(unsigned status, std::string_view message) {
    return {.status = status, .body = to_text(json::object{{"error", make_valid_utf8(message)}})};
}

Gate::Gate(Options options) : options_(std::move(options)) {
    for (std::string& host : options_.allowed_hosts) {
        host = lower(host);
    }
}

std::optional<HttpResponse> Gate::check_names(const HttpRequest& request) const {
    const std::optional<std::string> host = request.header("Host");
    const std::optional<std::string> name = host ? host_name(*host) : std::nullopt;
    if (!name || !is_allowed_name(*name)) {
        return make_refusal(403,
                            "the Host header names no host of this server; use localhost or an "
                            "address, or add the name to server.allowed_hosts");
    }
    if (!request.headers.contains("Origin")) {
        return std::nullopt;
    }
    const std::optional<std::string> origin = request.header("Origin");
    const std::optional<std::string> from = origin ? origin_host(*origin) : std::nullopt;
    if (!from || !is_allowed_name(*from)) {
        return make_refusal(403,
                            "the Origin header names a page that may not use this server; add its "
                            "host to server.allowed_hosts if it may");
    }
    return std::nullopt;
}

std::optional<HttpResponse> Gate::check_token(const HttpRequest& request) const {
    if (options_.token.empty()) {
        return std::nullopt;
    }
    const std::optional<std::string> given = request.header("Authorization");
    std::string_view problem = "the token is not valid";
    if (!given) {
        problem = "a token is needed: send the header \"Authorization: Bearer TOKEN\"";
    } else if (lower(given->substr(0, kBearer.size())) != kBearer) {
        problem = "the Authorization header must have the form \"Bearer TOKEN\"";
    } else if (equal_in_constant_time(given->substr(kBearer.size()), options_.token)) {
        return std::nullopt;
    }
    HttpResponse refusal = make_refusal(401, problem);
    refusal.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"belljar\"");
    return refusal;
}

bool Gate::is_allowed_name(std::string_view host) const {
    const std::string name(host);
    return name == "localhost" || is_address(name) ||
           std::ranges::find(options_.allowed_hosts, name) != options_.allowed_hosts.end();
}

}  // namespace belljar::access
