#include "alerts/signature.h"

#include <fmt/format.h>

#include "crypto/digest.h"

namespace belljar::alerts {

std::string sign_body(std::string_view secret, std::string_view body,
                      std::chrono::system_clock::time_point now) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
    const std::string digest = crypto::hmac_sha256(secret, fmt::format("{}.{}", seconds, body));
    std::string text = fmt::format("t={},v1=", seconds);
    for (const char byte : digest) {
        text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    }
    return text;
}

}  // namespace belljar::alerts
