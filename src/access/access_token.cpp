#include "access/access_token.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cmath>
#include <optional>

#include "base/ascii.h"
#include "base/base64.h"
#include "base/json.h"

namespace belljar::access {
namespace {

using std::chrono::system_clock;

constexpr std::size_t kLongestToken = 16 * 1024;
constexpr std::size_t kLongestSubject = 255;
constexpr std::size_t kMostRoles = 64;
constexpr std::chrono::seconds kLeeway(30);  // between the clocks of two machines
constexpr std::string_view kPrincipalPrefix = "oauth:";

std::unexpected<Error> refuse(const char* reason) {
    return fail(ErrorCode::Unauthenticated, reason);
}

struct Parts {
    std::string header;
    std::string payload;
};

// Both are decoded here as strictly as possible, so that the library and we read the same.
std::optional<Parts> split(std::string_view token) {
    const std::size_t first = token.find('.');
    const std::size_t second = first == token.npos ? first : token.find('.', first + 1);
    if (second == token.npos || token.find('.', second + 1) != token.npos) {
        return std::nullopt;
    }
    Result<std::string> header = decode_base64url(token.substr(0, first));
    Result<std::string> payload = decode_base64url(token.substr(first + 1, second - first - 1));
    const Result<std::string> signature = decode_base64url(token.substr(second + 1));
    if (!header || !payload || !signature || signature->empty()) {
        return std::nullopt;
    }
    return Parts{.header = std::move(*header), .payload = std::move(*payload)};
}

std::optional<std::string> text_of(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::optional(std::string(value->get_string()))
                                                  : std::nullopt;
}

bool is_type_of_access_token(const json::object& header) {
    if (!header.contains("typ")) {
        return true;
    }
    const std::string type = to_lower(text_of(header, "typ").value_or(""));
    return type == "jwt" || type == "at+jwt" || type == "application/at+jwt";
}

// Seconds since 1970, whole or not; nothing if it is no such number.
std::optional<system_clock::time_point> time_of(const json::value& value) {
    constexpr double kFarthest = 1e11;  // beyond the year 5000
    double seconds = 0;
    if (value.is_int64()) {
        seconds = static_cast<double>(value.get_int64());
    } else if (value.is_uint64()) {
        seconds = static_cast<double>(value.get_uint64());
    } else if (value.is_double()) {
        seconds = value.get_double();
    } else {
        return std::nullopt;
    }
    if (!(std::abs(seconds) <= kFarthest)) {
        return std::nullopt;
    }
    return system_clock::time_point(
        std::chrono::duration_cast<system_clock::duration>(std::chrono::duration<double>(seconds)));
}

bool names(const json::value* audience, std::string_view wanted) {
    if (audience == nullptr) {
        return false;
    }
    if (audience->is_string()) {
        return audience->get_string() == wanted;
    }
    return audience->is_array() &&
           std::ranges::any_of(audience->get_array(), [wanted](const json::value& one) {
               return one.is_string() && one.get_string() == wanted;
           });
}

// The claim of that name, or for "a.b" the member b of the claim a.
const json::value* find_claim(const json::object& claims, std::string_view name) {
    if (const json::value* value = claims.if_contains(name)) {
        return value;
    }
    const std::size_t dot = name.find('.');
    const json::value* outer = dot == name.npos ? nullptr : claims.if_contains(name.substr(0, dot));
    return outer != nullptr && outer->is_object()
               ? find_claim(outer->get_object(), name.substr(dot + 1))
               : nullptr;
}

// Words of a text with spaces between them, or the texts of a list.
std::vector<std::string> words_of(const json::value* value) {
    std::vector<std::string> words;
    if (value != nullptr && value->is_array()) {
        for (const json::value& item : value->get_array()) {
            if (item.is_string() && words.size() < kMostRoles) {
                words.emplace_back(item.get_string());
            }
        }
    } else if (value != nullptr && value->is_string()) {
        std::string_view rest = value->get_string();
        while (!rest.empty() && words.size() < kMostRoles) {
            const std::size_t end = std::min(rest.find(' '), rest.size());
            words.emplace_back(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }
    return words;
}

bool is_subject(const std::string& text) {
    return !text.empty() && text.size() <= kLongestSubject &&
           std::ranges::none_of(text, [](char letter) {
               return static_cast<unsigned char>(letter) < ' ' || letter == 0x7F;
           });
}

}  // namespace

bool looks_like_access_token(std::string_view token) { return std::ranges::count(token, '.') == 2; }

Result<Caller> AccessTokens::check(std::string_view token, system_clock::time_point now) {
    BJ_TRY(const std::string payload, open(token));
    return read_claims(payload, now);
}

// The payload, once it is certain that the authorization server has signed it.
Result<std::string> AccessTokens::open(std::string_view token) {
    if (token.size() > kLongestToken) {
        return refuse("the access token is too long");
    }
    const std::optional<Parts> parts = split(token);
    const Result<json::value> header = parts ? parse_json(parts->header) : refuse("");
    if (!header || !header->is_object()) {
        return refuse("the access token is malformed");
    }
    const json::object& fields = header->get_object();
    const std::optional<Algorithm> algorithm = parse_algorithm(text_of(fields, "alg").value_or(""));
    if (!algorithm || std::ranges::find(rules_.algorithms, *algorithm) == rules_.algorithms.end()) {
        return refuse("the access token is signed with an algorithm that is not accepted");
    }
    if (fields.contains("crit") || !is_type_of_access_token(fields)) {
        return refuse("the access token is of a kind that is not accepted");
    }
    const std::optional<std::string> key_id = text_of(fields, "kid");
    if (fields.contains("kid") && !key_id) {
        return refuse("the access token is malformed");
    }
    const PublicKey* key = keys_.keys().find(key_id, *algorithm);
    if (key == nullptr) {
        if (keys_.ask_for_newer()) {
            return fail(ErrorCode::Unavailable,
                        "the keys of the authorization server are being fetched; try again");
        }
        return refuse("the access token is signed with an unknown key");
    }
    std::optional<std::string> payload = key->open(std::string(token));
    if (!payload || *payload != parts->payload) {
        return refuse("the signature of the access token is wrong");
    }
    return std::move(*payload);
}

Result<Caller> AccessTokens::read_claims(std::string_view payload,
                                         system_clock::time_point now) const {
    const Result<json::value> parsed = parse_json(payload);
    if (!parsed || !parsed->is_object()) {
        return refuse("the claims of the access token are malformed");
    }
    const json::object& claims = parsed->get_object();
    if (text_of(claims, "iss") != rules_.issuer) {
        return refuse("the access token is from another issuer");
    }
    if (!names(claims.if_contains("aud"), rules_.audience)) {
        return refuse("the access token is not for this server");
    }
    const json::value* expires = claims.if_contains("exp");
    const auto expiry = expires != nullptr ? time_of(*expires) : std::nullopt;
    if (!expiry || now >= *expiry + kLeeway) {
        return refuse(expiry ? "the access token has expired" : "the access token never expires");
    }
    for (const std::string_view name : {"nbf", "iat"}) {
        const json::value* begins = claims.if_contains(name);
        const auto begin = begins != nullptr ? time_of(*begins) : std::nullopt;
        if (begins != nullptr && (!begin || now + kLeeway < *begin)) {
            return refuse("the access token is not valid yet");
        }
    }
    const std::optional<std::string> subject = text_of(claims, "sub");
    if (!subject || !is_subject(*subject)) {
        return refuse("the access token names no subject");
    }
    Caller caller{.principal = std::string(kPrincipalPrefix) + *subject,
                  .rights = {},
                  .proof = Proof::AccessToken,
                  .expires = expiry};
    for (const std::string& scope : words_of(find_claim(claims, rules_.scopes_claim))) {
        caller.rights.add(rights_of_scope(scope));
    }
    if (!rules_.roles_claim.empty()) {
        for (const std::string& role : words_of(find_claim(claims, rules_.roles_claim))) {
            add_role(caller, role);
        }
    }
    return caller;
}

}  // namespace belljar::access
