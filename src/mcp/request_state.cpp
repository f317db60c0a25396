#include "mcp/request_state.h"

#include "base/base64.h"
#include "base/id.h"
#include "crypto/digest.h"

namespace belljar::mcp {
namespace {

std::int64_t seconds_of(RequestStates::Clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

std::unexpected<RpcError> refuse() {
    // Whoever forges a state learns nothing of what was wrong with it.
    return rpc_fail(RpcCode::InvalidParams,
                    "params.requestState is not one that was given for this request, or it was "
                    "used or has expired; send the request again without it.");
}

}  // namespace

RequestStates::RequestStates() : key_(random_hex(32)) {}

std::string RequestStates::sign(std::string_view body, const StateBinding& binding) const {
    // Digests have a length of their own, so that no two bindings read the same.
    const std::string signed_text = crypto::sha256(body) + crypto::sha256(binding.principal) +
                                    crypto::sha256(binding.method) + crypto::sha256(binding.params);
    return crypto::hmac_sha256(key_, signed_text);
}

std::string RequestStates::seal(const json::value& state, const StateBinding& binding,
                                Clock::time_point now) const {
    const std::string body = to_text(json::object{
        {"state", state}, {"expires", seconds_of(now + kLifetime)}, {"nonce", random_hex(16)}});
    return encode_base64(body) + "." + encode_base64(sign(body, binding));
}

RpcResult<json::value> RequestStates::open(std::string_view sealed, const StateBinding& binding,
                                           Clock::time_point now) {
    const std::size_t dot = sealed.find('.');
    if (dot == std::string_view::npos) {
        return refuse();
    }
    const auto body = decode_base64(sealed.substr(0, dot));
    const auto signature = decode_base64(sealed.substr(dot + 1));
    if (!body || !signature || !equal_in_constant_time(*signature, sign(*body, binding))) {
        return refuse();
    }
    // Signed by us, so it has the form that seal() gives.
    const json::value content = parse_json(*body).value();
    const std::int64_t expires = content.at("expires").as_int64();
    std::string nonce(content.at("nonce").as_string());
    std::erase_if(used_, [now](const auto& entry) { return entry.second < now; });
    if (expires < seconds_of(now) || used_.contains(nonce) || used_.size() >= kMostUsed) {
        return refuse();
    }
    used_.emplace(std::move(nonce), now + kLifetime);
    return content.at("state");
}

}  // namespace belljar::mcp
