#pragma once

#include "access/http_message.h"

namespace belljar::access {

// Gives a refusal the shape that its path promises. Under /v1 that is a problem detail (RFC 9457):
// type, title, status and detail, besides `code`, the name of what is wrong in words that do not
// change; `error`, the same as detail; and `errors`, which names the member of the body or the
// parameter, where that is known. Elsewhere a refusal stays as it is. Whoever refuses calls
// make_refusal(); this is called once, on the way out.
void shape_refusal(const HttpRequest& request, HttpResponse& response);

}  // namespace belljar::access
