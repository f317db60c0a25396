#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace belljar::alerts {

// What proves to a receiver who sent a body and when: "t=1700000000,v1=HEX", where HEX is the
// HMAC-SHA256 of the time, a dot and the body.
[[nodiscard]] std::string sign_body(std::string_view secret, std::string_view body,
                                    std::chrono::system_clock::time_point now);

}  // namespace belljar::alerts
