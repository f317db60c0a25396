#pragma once

#include <span>

#include "access/http_message.h"
#include "base/result.h"
#include "config/address_range.h"

namespace belljar::transport {

// Believes what proxies say of the client whose request they pass on: its address, what it speaks
// and which host it named. Nobody is believed but `trusted`: the peer, and further proxies that
// trusted ones name. Whoever stands before them is the client. `request` has the peer's own address
// as its client. InvalidArgument if the headers contradict each other or cannot be read, as only a
// client can have written one of them then.
[[nodiscard]] Result<void> apply_forwarded(access::HttpRequest& request,
                                           std::span<const config::AddressRange> trusted);

}  // namespace belljar::transport
