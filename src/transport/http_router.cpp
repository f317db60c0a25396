#include "transport/http_router.h"

#include <algorithm>
#include <iterator>

#include "access/cross_origin.h"
#include "access/gate.h"
#include "execution/error_wire.h"

namespace belljar::transport {
namespace {

using access::HttpRequest;
using access::HttpResponse;

// Where JSON-RPC is taken: the endpoint, and two paths at which older gateways have it.
bool is_endpoint(const HttpRequest& request) {
    const bool posted = request.method == "POST";
    return request.path == "/mcp" || request.path == "/mcp/v1" || (request.path == "/" && posted);
}

bool is_mcp(const HttpRequest& request) {
    return is_endpoint(request) || (request.path == "/mcp/sse" && request.method == "GET") ||
           (request.path == "/mcp/messages" && request.method == "POST");
}

// Asked by machines every few seconds, whether anything happens or not.
bool is_probe(std::string_view operation) {
    return operation == "getHealth" || operation == "getReadiness" || operation == "getMetrics";
}

// Makes something another for more than the caller. Ending work must always be possible.
bool changes_service(const HttpRequest& request) {
    return (request.method == "POST" || request.method == "PATCH") &&
           (request.path.starts_with("/v1/admin/") || request.path.starts_with("/v1/audit/"));
}

bool is_installation(const HttpRequest& request) {
    return request.method == "POST" &&
           (request.path == "/pip_install" || request.path == "/pip/install");
}

}  // namespace

access::Gate::Door HttpRouter::door_of(const HttpRequest& request) const {
    return routes_.is_public(request) ? access::Gate::Door::Open : access::Gate::Door::Guarded;
}

HttpRouter::Note HttpRouter::note_of(const HttpRequest& request) const {
    return {.operation = is_mcp(request) ? "mcp" : routes_.operation_of(request),
            .principal = request.principal,
            .client = request.client,
            .trace = request.trace,
            .began = Clock::now(),
            .bytes_in = request.body_file ? request.body_file->size : request.body.size(),
            .method = request.method,
            .path = request.path,
            .agent = watch_.on_answer ? request.header("User-Agent").value_or("") : ""};
}

void HttpRouter::tell(const Note& note, const HttpResponse& response, std::uint64_t bytes_out) {
    const Duration time = Clock::now() - note.began;
    if (watch_.counters != nullptr) {
        watch_.counters->count({.operation = note.operation,
                                .status = response.status,
                                .time = time,
                                .bytes_in = note.bytes_in,
                                .bytes_out = bytes_out});
    }
    if (watch_.on_answer) {
        watch_.on_answer({.operation = note.operation,
                          .method = note.method,
                          .path = note.path,
                          .principal = note.principal,
                          .client = note.agent,
                          .address = note.client,
                          .status = response.status});
    }
    if (watch_.log == nullptr) {
        return;
    }
    if (!response.cause.empty()) {
        watch_.log->error("a request could not be answered", {{"operation", note.operation},
                                                              {"principal", note.principal},
                                                              {"reason", response.cause}});
    }
    if (is_probe(note.operation)) {
        return;
    }
    const access::TraceContext none;
    const access::TraceContext& trace = note.trace ? *note.trace : none;
    watch_.log->info("request", {{"operation", note.operation},
                                 {"status", static_cast<std::int64_t>(response.status)},
                                 {"principal", note.principal},
                                 {"client", note.client},
                                 {"seconds", to_seconds(time)},
                                 {"trace_id", trace.trace_id},
                                 {"span_id", trace.span_id}});
}

void HttpRouter::slow_down(const HttpRequest& request, HttpResponse& refusal) {
    if (watch_.limiter == nullptr) {
        return;
    }
    const access::RateLimiter::Verdict verdict =
        watch_.limiter->take_unknown(request.client, Clock::now());
    if (verdict.retry_after) {
        refusal = access::refuse_rate(verdict);
        if (watch_.counters != nullptr) {
            watch_.counters->count_rate_limited();
        }
    }
}

std::optional<HttpResponse> HttpRouter::check(const HttpRequest& request) {
    const access::Gate::Door door = door_of(request);
    std::expected<access::Caller, HttpResponse> caller = gate_.examine(request, door);
    std::optional<HttpResponse> refusal;
    if (!caller) {
        refusal = std::move(caller.error());
        if (refusal->status == 401 && watch_.on_stranger && request.header("Authorization")) {
            watch_.on_stranger(request.client);
        }
        slow_down(request, *refusal);
    } else if (door == access::Gate::Door::Guarded && watch_.limiter != nullptr) {
        const access::RateLimiter::Verdict verdict = watch_.limiter->take(*caller, Clock::now());
        if (verdict.retry_after) {
            refusal = access::refuse_rate(verdict);
            std::ranges::move(access::cross_origin_headers(request),
                              std::back_inserter(refusal->headers));
            if (watch_.counters != nullptr) {
                watch_.counters->count_rate_limited();
            }
        }
    }
    if (refusal) {
        Note note = note_of(request);
        if (caller) {
            note.principal = caller->principal;
        }
        tell(note, *refusal, refusal->body.size());
    }
    return refusal;
}

HttpRouter::Headers HttpRouter::headers_for(const HttpRequest& request, access::Gate::Door door) {
    Headers headers = access::cross_origin_headers(request);
    if (watch_.limiter != nullptr && door == access::Gate::Door::Guarded) {
        const access::Caller caller{.principal = request.principal, .limits = request.limits};
        std::ranges::move(access::rate_headers(watch_.limiter->look(caller, Clock::now())),
                          std::back_inserter(headers));
    }
    if (request.trace) {
        headers.emplace_back("traceresponse", request.trace->as_parent());
    }
    return headers;
}

Task<HttpResponse> HttpRouter::answer(HttpRequest request, engine::CancellationPtr cancellation) {
    request.trace = access::parse_trace(request.header("traceparent").value_or(""),
                                        request.header("tracestate").value_or(""));
    const HttpRequest head{.client = request.client};
    const access::Gate::Door door = door_of(request);
    if (std::optional<HttpResponse> answer = gate_.admit(request, door)) {
        co_return std::move(*answer);
    }
    const Note note = note_of(request);
    Headers headers = headers_for(request, door);
    const access::ResponseStreamPtr stream = request.stream;
    if (stream) {
        stream->add_headers(headers);
    }
    const Result<void> recordable =
        watch_.on_change && changes_service(request) ? watch_.on_change(request) : Result<void>{};
    HttpResponse response;
    if (recordable) {
        response = co_await route(std::move(request), std::move(cancellation));
    } else {
        response = access::make_refusal(execution::http_status(recordable.error().code),
                                        recordable.error().message);
    }
    if (door == access::Gate::Door::Open &&
        (response.status == 401 || response.status == 403 || response.status == 404)) {
        slow_down(head, response);  // such as a signed address that somebody made up
    }
    std::ranges::move(headers, std::back_inserter(response.headers));
    tell(note, response, stream && stream->is_open() ? stream->taken() : response.length());
    co_return response;
}

Task<HttpResponse> HttpRouter::route(HttpRequest request, engine::CancellationPtr cancellation) {
    if (is_endpoint(request)) {
        HttpResponse response = co_await mcp_.handle(std::move(request), std::move(cancellation));
        co_return response;
    }
    if (request.path == "/mcp/sse" && request.method == "GET") {
        HttpResponse response =
            co_await mcp_.handle_sse(std::move(request), std::move(cancellation));
        co_return response;
    }
    if (request.path == "/mcp/messages" && request.method == "POST") {
        co_return mcp_.handle_sse_message(std::move(request));
    }
    if (request.path == "/execute" && mcp::ToolDoor::names_tool(request)) {
        HttpResponse response =
            co_await mcp_.tool_door().call_tool(std::move(request), std::move(cancellation));
        co_return response;
    }
    if (is_installation(request)) {
        HttpResponse response =
            co_await mcp_.tool_door().install_package(std::move(request), std::move(cancellation));
        co_return response;
    }
    HttpResponse response = co_await routes_.handle(std::move(request), std::move(cancellation));
    co_return response;
}

}  // namespace belljar::transport
