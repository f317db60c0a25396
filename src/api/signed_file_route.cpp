#include "api/signed_file_route.h"

#include "access/gate.h"
#include "api/file_answers.h"
#include "api/file_operations.h"
#include "base/beneath.h"

namespace belljar::api {

using access::HttpResponse;

void SignedFileRoute::add_to(OperationTable& table) {
    Operation get = signed_file_operation();
    get.handler = [this](Call call) { return this->get(std::move(call)); };
    table.add(std::move(get));
}

Task<HttpResponse> SignedFileRoute::get(Call call) {
    const std::optional<storage::UrlSigner::Grant> grant =
        signer_.verify({.method = call.request.method,
                        .conversation_id = call.path_value("conversation_id"),
                        .path = call.path_value("path"),
                        .query = call.request.query},
                       std::chrono::system_clock::now());
    if (!grant) {
        co_return access::make_refusal(
            403, call.request.query.empty() ? "Missing signature" : "Invalid signature");
    }
    if (!is_plain_path(grant->file.path)) {
        co_return access::make_refusal(404, "File not found");
    }
    const bool reads = call.request.method == "GET";
    HttpResponse response =
        co_await send_file(&executor_.conversations(), std::move(call.request), grant->file);
    if (response.status == 404 || response.status == 400) {
        co_return access::make_refusal(404, "File not found");
    }
    if (reads && response.file && !grant->once.empty()) {
        const Result<void> used = co_await use(*grant);
        if (!used) {
            co_return access::make_refusal(403, "Invalid signature");
        }
    }
    response.headers.emplace_back("Referrer-Policy", "no-referrer");
    co_return response;
}

Task<Result<void>> SignedFileRoute::use(storage::UrlSigner::Grant grant) {
    Result<void> used = co_await executor_.state().use_once(
        "file address " + grant.once, grant.expires.value_or(execution::kNever));
    co_return used;
}

}  // namespace belljar::api
