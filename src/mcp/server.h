#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <vector>

#include "access/http_message.h"
#include "base/log.h"
#include "base/task.h"
#include "base/task_group.h"
#include "engine/cancellation.h"
#include "engine/executor.h"
#include "mcp/answer.h"
#include "mcp/changes.h"
#include "mcp/dispatcher.h"
#include "mcp/fixtures.h"
#include "mcp/http_session.h"
#include "mcp/offerings.h"
#include "mcp/post.h"
#include "mcp/sse_connections.h"
#include "mcp/tasks.h"
#include "mcp/tool_door.h"

namespace belljar::mcp {

// MCP over HTTP, all revisions on one endpoint, and what the other transports share with it.
// Borrows the executor and the log; used on the I/O thread only, and outlives every coroutine it
// hands out.
class Server {
   public:
    struct Options {
        Identity identity{};
        std::vector<Dialect> dialects{};                // whose tools are listed besides our own
        const storage::OutputStore* outputs = nullptr;  // of runs; outlives this
        Fixtures fixtures = Fixtures::Absent;
    };

    Server(const asio::any_io_executor& io, engine::Executor& executor, Options options,
           const Log& log);

    // The endpoint, after authentication and the Host and Origin checks: POST, GET and DELETE.
    // Never fails: what is wrong is said in the response. `cancellation` fires when the client
    // hangs up, which ends the request unless it belongs to a session.
    Task<access::HttpResponse> handle(access::HttpRequest request,
                                      engine::CancellationPtr cancellation);
    Task<access::HttpResponse> handle_post(access::HttpRequest request,
                                           engine::CancellationPtr cancellation);
    // The two ends of HTTP with server-sent events.
    Task<access::HttpResponse> handle_sse(access::HttpRequest request,
                                          engine::CancellationPtr cancellation);
    [[nodiscard]] access::HttpResponse handle_sse_message(access::HttpRequest request);

    // For clients that know nothing of MCP.
    [[nodiscard]] ToolDoor& tool_door() { return tool_door_; }
    // For transports that are not HTTP.
    [[nodiscard]] Dispatcher& dispatcher() { return *dispatcher_; }
    [[nodiscard]] Changes& changes() { return changes_; }

    // Takes nothing new and ends what is under way.
    void stop();
    Task<void> wait(asio::steady_timer::time_point deadline);

   private:
    Task<access::HttpResponse> serve_call(Call call, access::HttpRequest request,
                                          engine::CancellationPtr cancellation);
    Task<access::HttpResponse> serve_batch(Batch batch, engine::CancellationPtr cancellation);
    Task<std::optional<std::string>> serve_element(json::value element, Call pattern,
                                                   HttpSessionPtr session,
                                                   engine::CancellationPtr cancellation);
    Task<access::HttpResponse> serve_in_session(HttpSessionPtr session, Call call,
                                                access::HttpRequest request,
                                                engine::CancellationPtr cancellation);
    Task<access::HttpResponse> begin_session(Call call, engine::CancellationPtr cancellation);
    Task<void> answer_in_session(HttpSessionPtr session, SessionStreamPtr stream, Call call,
                                 InFlight::EntryPtr entry);
    Task<access::HttpResponse> handle_get(access::HttpRequest request,
                                          engine::CancellationPtr cancellation);
    [[nodiscard]] access::HttpResponse handle_delete(const access::HttpRequest& request);
    [[nodiscard]] std::optional<access::HttpResponse> find_fault(
        const Call& call, const access::HttpRequest& request);
    // Every provider, in the order they are asked; those besides the tools are made here.
    [[nodiscard]] Providers make_providers();

    Options options_;
    Changes changes_;
    Tasks tasks_;
    Offerings offerings_;
    ToolDoor tool_door_;
    std::unique_ptr<Provider> fixtures_;
    std::unique_ptr<Dispatcher> dispatcher_;
    HttpSessions sessions_;
    SseConnections sse_;
    TaskGroup calls_;  // of sessions: they go on when their connection is gone
};

}  // namespace belljar::mcp
