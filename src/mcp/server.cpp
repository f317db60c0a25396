#include "mcp/server.h"

#include <algorithm>

#include "access/challenge.h"
#include "access/event_stream.h"
#include "access/gate.h"
#include "mcp/batch.h"
#include "mcp/dialect_log_execute.h"
#include "mcp/fixture_provider.h"

namespace belljar::mcp {
namespace {

using access::HttpRequest;
using access::HttpResponse;
using engine::CancellationPtr;

constexpr std::string_view kEndpoint = "/mcp";  // the other paths are those of older gateways
constexpr std::string_view kSessionHeader = "Mcp-Session-Id";

HttpResponse accepted() { return {.status = 202, .content_type = ""}; }

HttpResponse respond(unsigned status, std::string body) {
    return {.status = status, .body = std::move(body)};
}

HttpResponse refuse(unsigned status, const json::value& id, std::string message) {
    return respond(status, error_message(id, {.code = RpcCode::InvalidRequest,
                                              .message = std::move(message)}));
}

HttpResponse no_such_session(const json::value& id) {
    return refuse(404, id,
                  "There is no such session, or it has ended; begin a new one with "
                  "initialize.");
}

// Modern clients never come here this way, and legacy ones with a session only.
HttpResponse not_allowed() {
    HttpResponse response =
        access::make_refusal(405,
                             "without a session the MCP endpoint takes POST only; a session "
                             "begins with initialize");
    response.headers.emplace_back("Allow", "POST");
    return response;
}

// Errors of a method are answers like others, except that modern clients read some of them from the
// status.
unsigned status_of(const Reply& reply, Era era) {
    if (era == Era::Legacy) {
        return 200;
    }
    if (reply.error == RpcCode::MethodNotFound) {
        return 404;
    }
    return reply.error == RpcCode::MissingCapability ? 400 : 200;
}

std::string version_asked_for(const Call& call) {
    const json::value* version = call.message.params.if_contains("protocolVersion");
    const json::string* text = version != nullptr ? version->if_string() : nullptr;
    return text != nullptr ? std::string(*text) : "";
}

bool speaks_of_logs(const std::vector<Dialect>& dialects) {
    return std::ranges::find(dialects, Dialect::LogAnalysis) != dialects.end();
}

// Clients of older gateways know two of our tools with other answers.
void rename_tool(Message& message) {
    json::value* name = message.params.if_contains("name");
    if (message.method == "tools/call" && name != nullptr && name->is_string()) {
        *name = name_for_logs(name->get_string());
    }
}

// The id of a request, or what stands for that of another message.
json::value id_of(const Call& call) {
    return call.message.kind == Message::Kind::Request ? call.message.id : json::value(nullptr);
}

}  // namespace

Server::Server(const asio::any_io_executor& io, engine::Executor& executor, Options options,
               const Log& log)
    : options_(std::move(options)),
      tasks_(io, log, changes_),
      offerings_(io, {executor, changes_, options_.outputs, options_.dialects}, log),
      tool_door_(executor, log),
      dispatcher_(
          std::make_unique<Dispatcher>(options_.identity, make_providers(), changes_, tasks_, log)),
      sessions_(io, changes_),
      sse_(io, log, *dispatcher_, changes_),
      calls_(io, log) {}

// The fixtures come first: of what is listed the suite takes the first to try.
Providers Server::make_providers() {
    Providers providers = offerings_.providers();
    if (options_.fixtures == Fixtures::Present) {
        fixtures_ = std::make_unique<FixtureProvider>(changes_);
        providers.insert(providers.begin(), fixtures_.get());
    }
    return providers;
}

void Server::stop() {
    calls_.close();
    tasks_.stop();
    offerings_.stop();
    sse_.stop();
    sessions_.end_all();
}

Task<void> Server::wait(asio::steady_timer::time_point deadline) {
    co_await calls_.wait(deadline);
    co_await tasks_.wait_for_end(deadline);
    co_await offerings_.wait_for_end(deadline);
    co_await sse_.wait(deadline);
}

Task<HttpResponse> Server::handle(HttpRequest request, CancellationPtr cancellation) {
    if (request.method == "GET") {
        HttpResponse response = co_await handle_get(std::move(request), std::move(cancellation));
        co_return response;
    }
    if (request.method == "DELETE") {
        co_return handle_delete(request);
    }
    if (request.method != "POST") {
        co_return not_allowed();
    }
    HttpResponse response = co_await handle_post(std::move(request), std::move(cancellation));
    co_return response;
}

Task<HttpResponse> Server::handle_post(HttpRequest request, CancellationPtr cancellation) {
    std::expected<Post, Refusal> post = read_post(request);
    if (!post) {
        Refusal& refusal = post.error();
        co_return respond(refusal.status, error_message(refusal.id, std::move(refusal.error)));
    }
    if (Batch* batch = std::get_if<Batch>(&*post)) {
        batch->principal = request.principal;
        batch->rights = request.rights;
        batch->origin = access::origin_of(request);
        batch->trace = request.trace;
        batch->session_id = request.header(kSessionHeader);
        HttpResponse response = co_await serve_batch(std::move(*batch), std::move(cancellation));
        co_return response;
    }
    Call call = std::move(std::get<Call>(*post));
    call.principal = request.principal;
    call.trace = request.trace;
    call.origin = access::origin_of(request);
    call.rights = request.rights;
    if (request.path != kEndpoint && speaks_of_logs(options_.dialects)) {
        rename_tool(call.message);
    }
    const bool legacy = era_of(call.revision) == Era::Legacy;
    if (legacy && call.message.kind == Message::Kind::Request &&
        call.message.method == "initialize") {
        HttpResponse response = co_await begin_session(std::move(call), std::move(cancellation));
        co_return response;
    }
    if (legacy && request.headers.contains(kSessionHeader)) {
        const HttpSessionPtr session =
            sessions_.find(call.principal, request.header(kSessionHeader).value_or(""));
        if (session == nullptr) {
            co_return no_such_session(id_of(call));
        }
        HttpResponse response = co_await serve_in_session(
            session, std::move(call), std::move(request), std::move(cancellation));
        co_return response;
    }
    HttpResponse response =
        co_await serve_call(std::move(call), std::move(request), std::move(cancellation));
    co_return response;
}

std::optional<HttpResponse> Server::find_fault(const Call& call, const HttpRequest& request) {
    if (call.message.method != "tools/call") {
        return std::nullopt;
    }
    if (era_of(call.revision) == Era::Modern) {
        if (std::optional<RpcError> fault =
                dispatcher_->tools().find_header_fault(call.message, request)) {
            return respond(400, error_message(call.message.id, std::move(*fault)));
        }
    }
    const access::Rights lacking = dispatcher_->tools().lacking_rights(call);
    // Clients that can get another token are told what it must allow; the others' model is told.
    return !lacking.empty() && !request.resource_metadata.empty()
               ? std::optional(access::insufficient_scope(request, lacking))
               : std::nullopt;
}

// A request that stands alone. The answer is plain JSON, unless there was something to tell before
// it: then it is the last event of a stream.
Task<HttpResponse> Server::serve_call(Call call, HttpRequest request,
                                      CancellationPtr cancellation) {
    if (call.message.kind == Message::Kind::Response) {
        co_return refuse(400, nullptr, "Nothing was asked, so there is nothing to respond to.");
    }
    // A notification concerns nothing that is kept here: notifications/cancelled cannot be matched
    // to a request, because two clients may use the same id.
    if (call.message.kind == Message::Kind::Notification) {
        co_return accepted();
    }
    if (std::optional<HttpResponse> fault = find_fault(call, request)) {
        co_return std::move(*fault);
    }
    const Era era = era_of(call.revision);
    const bool streams =
        access::wants_events(request) || call.message.method == "subscriptions/listen";
    const access::ResponseStreamPtr stream = streams ? request.stream : nullptr;
    if (stream) {
        call.notify = [stream](std::string message) {
            if (!stream->is_open()) {
                stream->open(access::event_stream_head());
            }
            return stream->offer(access::message_event(std::move(message)));
        };
    }
    Reply reply = co_await dispatcher_->answer(std::move(call), std::move(cancellation));
    if (stream && stream->is_open()) {
        stream->put(access::message_event(text_of(std::move(reply))));
        co_return HttpResponse{};
    }
    co_return HttpResponse{.status = status_of(reply, era),
                           .body = std::move(reply.begin),
                           .rest = std::move(reply.rest)};
}

Task<HttpResponse> Server::begin_session(Call call, CancellationPtr cancellation) {
    const HttpSessionPtr session =
        sessions_.create(call.principal, negotiate(version_asked_for(call)));
    if (session == nullptr) {
        co_return refuse(503, call.message.id, "There are too many sessions; try again later.");
    }
    call.memory = &session->memory();
    Reply reply = co_await dispatcher_->answer(std::move(call), std::move(cancellation));
    const bool failed = reply.error.has_value();
    HttpResponse response = respond(200, text_of(std::move(reply)));
    if (failed) {
        sessions_.end(session);
    } else {
        response.headers.emplace_back(kSessionHeader, session->id());
    }
    co_return response;
}

Task<HttpResponse> Server::serve_in_session(HttpSessionPtr session, Call call, HttpRequest request,
                                            CancellationPtr cancellation) {
    if (call.message.kind != Message::Kind::Request) {
        session->take(std::move(call.message));
        co_return accepted();
    }
    if (std::optional<HttpResponse> fault = find_fault(call, request)) {
        co_return std::move(*fault);
    }
    RpcResult<InFlight::EntryPtr> entry = session->in_flight().begin(call.message.id);
    if (!entry) {
        co_return respond(400, error_message(call.message.id, std::move(entry.error())));
    }
    const access::ResponseStreamPtr connection = request.stream;
    const SessionStreamPtr stream = session->make_stream(connection);
    call.revision = session->revision();
    call.memory = &session->memory();
    call.notify = [stream](const std::string& message) { return stream->tell(message); };
    call.questions = session->questions();
    call.send_question = [stream](const std::string& message) { return stream->ask(message); };
    call.hang_up = [stream] { stream->hang_up(); };
    if (!calls_.spawn("call",
                      answer_in_session(session, stream, std::move(call), std::move(*entry)))) {
        co_return refuse(503, nullptr, "The server is stopping.");
    }
    co_await stream->serve(connection, std::move(cancellation));
    if (std::optional<std::string> answer = stream->take_plain_answer()) {
        co_return respond(200, std::move(*answer));
    }
    // Cancelled before anything was said: a stream without events.
    if (!connection->is_open()) {
        connection->open(access::event_stream_head());
    }
    co_return HttpResponse{};
}

// Goes on when the connection is gone; the client may come back for the answer.
Task<void> Server::answer_in_session(HttpSessionPtr session, SessionStreamPtr stream, Call call,
                                     InFlight::EntryPtr entry) {
    const CancellationPtr cancellation = entry->cancellation();
    Reply reply = co_await dispatcher_->answer(std::move(call), cancellation);
    entry.reset();
    session->touch();
    if (cancellation->requested()) {
        stream->close();
    } else {
        stream->answer(text_of(std::move(reply)));
    }
}

Task<HttpResponse> Server::serve_batch(Batch batch, CancellationPtr cancellation) {
    const HttpSessionPtr session =
        batch.session_id ? sessions_.find(batch.principal, *batch.session_id) : nullptr;
    if (batch.session_id && session == nullptr) {
        co_return no_such_session(nullptr);
    }
    if (session != nullptr && session->revision() != Revision::V2025_03_26) {
        co_return respond(400, error_message(json::value(nullptr), batch_not_allowed()));
    }
    const Call pattern{.revision = Revision::V2025_03_26,
                       .principal = std::move(batch.principal),
                       .rights = batch.rights,
                       .origin = std::move(batch.origin),
                       .trace = std::move(batch.trace),
                       .memory = session != nullptr ? &session->memory() : nullptr};
    std::vector<std::string> answers;
    for (json::value& element : batch.elements) {
        if (cancellation->requested()) {
            break;
        }
        std::optional<std::string> answer =
            co_await serve_element(std::move(element), pattern, session, cancellation);
        if (answer) {
            answers.push_back(std::move(*answer));
        }
    }
    co_return answers.empty() ? accepted() : respond(200, batch_message(answers));
}

Task<std::optional<std::string>> Server::serve_element(json::value element, Call pattern,
                                                       HttpSessionPtr session,
                                                       CancellationPtr cancellation) {
    std::expected<Message, BadMessage> message = parse_message(std::move(element));
    if (!message) {
        BadMessage& bad = message.error();
        co_return error_message(bad.id.value_or(nullptr), std::move(bad.error));
    }
    if (message->kind != Message::Kind::Request) {
        if (session != nullptr) {
            session->take(std::move(*message));
        }
        co_return std::nullopt;
    }
    if (std::optional<RpcError> fault = find_batch_element_fault(*message)) {
        co_return error_message(message->id, std::move(*fault));
    }
    pattern.message = std::move(*message);
    Reply reply = co_await dispatcher_->answer(std::move(pattern), std::move(cancellation));
    co_return text_of(std::move(reply));
}

Task<HttpResponse> Server::handle_get(HttpRequest request, CancellationPtr cancellation) {
    if (!request.headers.contains(kSessionHeader)) {
        co_return not_allowed();
    }
    const HttpSessionPtr session =
        sessions_.find(request.principal, request.header(kSessionHeader).value_or(""));
    if (session == nullptr) {
        co_return no_such_session(nullptr);
    }
    if (!access::wants_events(request)) {
        co_return refuse(406, nullptr, "The Accept header must name text/event-stream.");
    }
    const std::optional<std::string> last = request.header("Last-Event-ID");
    const std::optional<EventPlace> place = last ? parse_place(*last) : std::nullopt;
    const SessionStreamPtr stream =
        place ? session->find_stream(place->stream) : session->common_stream();
    if (stream == nullptr || (last && !place)) {
        co_return refuse(400, nullptr,
                         "The Last-Event-ID header names no event that is kept here.");
    }
    if (place) {
        stream->resume(request.stream, *place);
    } else if (stream->is_attached()) {
        co_return refuse(409, nullptr, "This session has a stream already.");
    } else {
        stream->attach(request.stream);
        stream->open();
    }
    co_await stream->serve(request.stream, std::move(cancellation));
    co_return HttpResponse{};
}

HttpResponse Server::handle_delete(const HttpRequest& request) {
    if (!request.headers.contains(kSessionHeader)) {
        return not_allowed();
    }
    const HttpSessionPtr session =
        sessions_.find(request.principal, request.header(kSessionHeader).value_or(""));
    if (session == nullptr) {
        return no_such_session(nullptr);
    }
    sessions_.end(session);
    return {.status = 204, .content_type = ""};
}

Task<HttpResponse> Server::handle_sse(HttpRequest request, CancellationPtr cancellation) {
    HttpResponse response = co_await sse_.open(std::move(request), std::move(cancellation));
    co_return response;
}

HttpResponse Server::handle_sse_message(HttpRequest request) {
    return sse_.take(std::move(request));
}

}  // namespace belljar::mcp
