#include "api/repeats.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "access/event_stream.h"
#include "access/gate.h"
#include "api/operation_parts.h"
#include "api/refusals.h"
#include "crypto/digest.h"

namespace belljar::api {
namespace {

using access::HttpRequest;
using access::HttpResponse;
using access::make_refusal;
using execution::RepeatClaim;
using execution::RepeatKey;

constexpr std::string_view kHeader = "Idempotency-Key";
constexpr std::string_view kContentType = "Content-Type";
constexpr std::size_t kLongestKey = 255;
// Where tokens are made, of which only hashes may be kept.
constexpr std::string_view kTokens = "/v1/admin/tokens";
// Of an answer that is kept; what is longer cannot be given again.
constexpr std::size_t kLongestAnswer = 4UL * 1024 * 1024;
// Of a body in a file, which is read here and keeps others waiting meanwhile.
constexpr std::uint64_t kLongestFile = 64ULL * 1024 * 1024;

bool is_repeatable(std::string_view method, std::string_view path) {
    return method == "POST" && path.starts_with("/v1/");
}

bool is_key(std::string_view key) {
    const auto visible = [](char letter) { return letter > ' ' && letter <= '~'; };
    return !key.empty() && key.size() <= kLongestKey && std::ranges::all_of(key, visible);
}

Result<void> add_file(crypto::Sha256& digest, const access::BodyFile& body) {
    if (body.size > kLongestFile) {
        return fail(ErrorCode::TooLarge,
                    "a body of more than 64 MiB cannot have an Idempotency-Key");
    }
    std::vector<char> piece(1UL << 20);
    for (std::uint64_t read = 0; read < body.size;) {
        const ssize_t count =
            ::pread(body.file.get(), piece.data(), piece.size(), static_cast<off_t>(read));
        if (count <= 0) {
            return fail(system_error("pread of a body"));
        }
        digest.add({piece.data(), static_cast<std::size_t>(count)});
        read += static_cast<std::uint64_t>(count);
    }
    return {};
}

// Of everything that changes what is done.
Result<std::string> digest_of(const HttpRequest& request) {
    crypto::Sha256 digest;
    for (const std::string& part :
         {request.method, request.path, request.query, request.header(kContentType).value_or(""),
          request.header("Prefer").value_or("")}) {
        digest.add(std::to_string(part.size()) + ":" + part);
    }
    digest.add(request.body);
    if (request.body_file) {
        BJ_TRY_VOID(add_file(digest, *request.body_file));
    }
    return digest.finish();
}

// An answer to this request that would be the same another time.
bool is_final(const HttpResponse& response) {
    constexpr std::array<unsigned, 6> kPassing{401, 403, 408, 409, 429, 499};
    return response.status < 500 && !response.cut_short && !response.file &&
           response.body.size() <= kLongestAnswer &&
           std::ranges::find(kPassing, response.status) == kPassing.end();
}

HttpResponse replay(const execution::StoredAnswer& answer) {
    HttpResponse response{.status = answer.status, .body = answer.body};
    for (const auto& [name, value] : answer.headers) {
        if (name == kContentType) {
            response.content_type = value;
        } else {
            response.headers.emplace_back(name, value);
        }
    }
    response.headers.emplace_back("Idempotency-Replayed", "true");
    return response;
}

execution::StoredAnswer stored(const HttpResponse& response) {
    execution::StoredAnswer answer{.status = response.status, .body = response.body};
    for (const auto& [name, value] : response.headers) {
        answer.headers[name] = value;
    }
    answer.headers[std::string(kContentType)] = response.content_type;
    return answer;
}

}  // namespace

bool Repeats::wants(const HttpRequest& request) {
    return is_repeatable(request.method, request.path) && request.headers.contains(kHeader);
}

bool Repeats::keeps(std::string_view method, std::string_view path) {
    return is_repeatable(method, path) && !path.starts_with(kTokens);
}

Task<HttpResponse> Repeats::answer(const Handler* handler, Call call) {
    const std::string given = call.request.header(kHeader).value_or("");
    if (!is_key(given)) {
        co_return make_refusal(400, "Idempotency-Key must be 1 to 255 visible characters");
    }
    if (access::wants_events(call.request)) {
        co_return make_refusal(400,
                               "a stream cannot be given again: leave out Idempotency-Key, or do "
                               "not accept text/event-stream");
    }
    if (!keeps(call.request.method, call.request.path)) {
        co_return make_refusal(400,
                               "an answer that holds a token is never kept: leave out "
                               "Idempotency-Key");
    }
    const Result<std::string> digest = digest_of(call.request);
    if (!digest) {
        co_return refuse(digest.error());
    }
    RepeatKey key{.principal = call.request.principal, .key = given, .digest = *digest};
    const Result<RepeatClaim> claim = co_await state_.claim(key);
    if (!claim) {
        co_return refuse(claim.error());
    }
    switch (claim->kind) {
        case RepeatClaim::Kind::Fresh:
            break;
        case RepeatClaim::Kind::InProgress: {
            HttpResponse later = make_refusal(409, "the first request of this key is under way");
            later.headers.emplace_back("Retry-After", "1");
            co_return later;
        }
        case RepeatClaim::Kind::Answered:
            co_return replay(*claim->answer);
        case RepeatClaim::Kind::Forgotten:
            co_return make_refusal(409,
                                   "this was done with this Idempotency-Key, and its answer is no "
                                   "longer kept: look for what it has made");
        case RepeatClaim::Kind::Different:
            co_return make_refusal(422, "this Idempotency-Key was used for another request");
    }
    HttpResponse response = co_await answer_first(handler, std::move(call), std::move(key));
    co_return response;
}

Task<HttpResponse> Repeats::answer_first(const Handler* handler, Call call, RepeatKey key) {
    std::exception_ptr failure;
    HttpResponse response;
    try {
        response = co_await (*handler)(std::move(call));
    } catch (...) {
        failure = std::current_exception();  // nothing can be awaited in here
    }
    // What is said to the caller does not depend on whether it could be kept.
    if (!failure && is_final(response)) {
        const Result<void> kept = co_await state_.settle(key, stored(response));
        if (kept) {
            co_return response;
        }
    }
    [[maybe_unused]] const Result<void> freed = co_await state_.release(std::move(key));
    if (failure) {
        std::rethrow_exception(failure);
    }
    co_return response;
}

Parameter repeat_parameter() {
    return header_parameter(
        kHeader,
        "A text of the caller's choice: the same request with the same key is done once and "
        "answered alike for a day.",
        {{"type", "string"},
         {"minLength", 1},
         {"maxLength", kLongestKey},
         {"pattern", "^[!-~]+$"}});
}

}  // namespace belljar::api
