#pragma once

#include "base/error.h"

namespace belljar::execution {

// The only place that says an ErrorCode on a wire.
[[nodiscard]] unsigned http_status(ErrorCode code);
[[nodiscard]] int json_rpc_code(ErrorCode code);
// The message a client may see: never a host path or the kernel's text.
[[nodiscard]] std::string client_message(const Error& error);

}  // namespace belljar::execution
