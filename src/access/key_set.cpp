#include "access/key_set.h"

#include <cjose/cjose.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/json.h"

namespace belljar::access {
namespace {

constexpr std::size_t kLeastRsaBits = 2048;
constexpr std::size_t kMostRsaBits = 8192;

struct ReleaseJws {
    void operator()(cjose_jws_t* jws) const { cjose_jws_release(jws); }
};

std::string text_or_empty(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

// Only the public parts, whatever else stands there.
json::object public_parts(const json::object& object) {
    json::object parts;
    for (const std::string_view name : {"kty", "n", "e", "crv", "x", "y"}) {
        if (const json::value* value = object.if_contains(name)) {
            parts[name] = *value;
        }
    }
    return parts;
}

// What the key is good for by its kind, narrowed by what it says of itself.
std::vector<Algorithm> algorithms_of(const json::object& object) {
    std::vector<Algorithm> fitting;
    const std::string kind = text_or_empty(object, "kty");
    if (kind == "RSA") {
        fitting = {Algorithm::Rs256, Algorithm::Ps256};
    } else if (kind == "EC" && text_or_empty(object, "crv") == "P-256") {
        fitting = {Algorithm::Es256};
    }
    const bool for_signing = !object.contains("use") || text_or_empty(object, "use") == "sig";
    const json::value* operations = object.if_contains("key_ops");
    const bool may_verify =
        operations == nullptr ||
        (operations->is_array() &&
         std::ranges::any_of(operations->get_array(), [](const json::value& operation) {
             return operation.is_string() && operation.get_string() == "verify";
         }));
    const std::optional<Algorithm> only = parse_algorithm(text_or_empty(object, "alg"));
    std::erase_if(fitting, [&](Algorithm algorithm) {
        return !for_signing || !may_verify || (object.contains("alg") && only != algorithm);
    });
    return fitting;
}

std::optional<PublicKey> key_from(const json::value& value) {
    if (!value.is_object()) {
        return std::nullopt;
    }
    const json::object& object = value.get_object();
    std::vector<Algorithm> algorithms = algorithms_of(object);
    if (algorithms.empty()) {
        return std::nullopt;
    }
    const std::string text = to_text(public_parts(object));
    cjose_err error{};
    PublicKey::Handle handle(cjose_jwk_import(text.data(), text.size(), &error));
    if (!handle) {
        return std::nullopt;
    }
    const std::size_t bits = cjose_jwk_get_keysize(handle.get(), &error);
    const bool is_rsa = algorithms.front() != Algorithm::Es256;
    if (is_rsa && (bits < kLeastRsaBits || bits > kMostRsaBits)) {
        return std::nullopt;
    }
    return PublicKey({.id = text_or_empty(object, "kid"), .algorithms = std::move(algorithms)},
                     std::move(handle));
}

}  // namespace

std::optional<Algorithm> parse_algorithm(std::string_view name) {
    if (name == "RS256") {
        return Algorithm::Rs256;
    }
    if (name == "PS256") {
        return Algorithm::Ps256;
    }
    if (name == "ES256") {
        return Algorithm::Es256;
    }
    return std::nullopt;
}

void PublicKey::Release::operator()(_cjose_jwk_int* key) const { cjose_jwk_release(key); }

bool PublicKey::serves(Algorithm algorithm) const {
    return std::ranges::find(facts_.algorithms, algorithm) != facts_.algorithms.end();
}

std::optional<std::string> PublicKey::open(const std::string& compact) const {
    cjose_err error{};
    const std::unique_ptr<cjose_jws_t, ReleaseJws> jws(
        cjose_jws_import(compact.data(), compact.size(), &error));
    if (!jws || !cjose_jws_verify(jws.get(), handle_.get(), &error)) {
        return std::nullopt;
    }
    std::uint8_t* payload = nullptr;
    std::size_t size = 0;
    if (!cjose_jws_get_plaintext(jws.get(), &payload, &size, &error)) {
        return std::nullopt;
    }
    return std::string(reinterpret_cast<const char*>(payload), size);
}

Result<KeySet> KeySet::parse(std::string_view text) {
    const auto refuse = [](const char* reason) { return fail(ErrorCode::InvalidArgument, reason); };
    if (text.size() > kTextLimit.count) {
        return refuse("the key set is too large");
    }
    BJ_TRY(const json::value value, parse_json(text));
    const json::value* keys = value.is_object() ? value.get_object().if_contains("keys") : nullptr;
    if (keys == nullptr || !keys->is_array() || keys->get_array().size() > kMostKeys) {
        return refuse("a key set is an object with \"keys\", at most 64 of them");
    }
    KeySet set;
    for (const json::value& key : keys->get_array()) {
        if (std::optional<PublicKey> parsed = key_from(key)) {
            set.keys_.push_back(std::move(*parsed));
        }
    }
    if (set.keys_.empty()) {
        return refuse(
            "the key set holds no key that can be used: RSA of at least 2048 bits, or P-256");
    }
    return set;
}

const PublicKey* KeySet::find(const std::optional<std::string>& id, Algorithm algorithm) const {
    const PublicKey* found = nullptr;
    for (const PublicKey& key : keys_) {
        if (!key.serves(algorithm) || (id && key.id() != *id)) {
            continue;
        }
        if (found != nullptr) {
            return nullptr;  // two keys fit, and nothing says which one is meant
        }
        found = &key;
    }
    return found;
}

}  // namespace belljar::access
