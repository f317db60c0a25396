#include "api/refusals.h"

#include "access/gate.h"
#include "execution/error_wire.h"

namespace belljar::api {

using access::HttpResponse;

HttpResponse refuse(const Error& error) {
    HttpResponse response =
        access::make_refusal(execution::http_status(error.code), execution::client_message(error));
    if (error.retry_after > std::chrono::seconds(0)) {
        response.headers.emplace_back("Retry-After", std::to_string(error.retry_after.count()));
    }
    if (error.code == ErrorCode::Internal) {
        response.cause = error.describe();
    }
    return response;
}

HttpResponse refuse_method(std::string_view allowed) {
    HttpResponse response = access::make_refusal(405, "this path does not take that method");
    response.headers.emplace_back("Allow", allowed);
    return response;
}

}  // namespace belljar::api
