#pragma once

#include <vector>

#include "access/http_message.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "engine/executor.h"
#include "mcp/answer.h"
#include "mcp/dispatcher.h"
#include "mcp/post.h"

namespace belljar::mcp {

// MCP over HTTP, all revisions on one endpoint and without sessions. Borrows the executor; used on
// the I/O thread only, and outlives every coroutine it hands out.
class Server {
   public:
    // Lists our own tools and those of the dialects named.
    Server(engine::Executor& executor, Identity identity, std::vector<Dialect> dialects = {});

    // POST /mcp after authentication and the Host and Origin checks. Never fails: what is wrong is
    // said in the response. `cancellation` fires when the client hangs up: without a session there
    // is nobody left to give the answer to, in either era.
    Task<access::HttpResponse> handle_post(access::HttpRequest request,
                                           engine::CancellationPtr cancellation);

    // The methods, for transports that are not HTTP.
    [[nodiscard]] Dispatcher& dispatcher() { return dispatcher_; }

   private:
    Task<access::HttpResponse> serve_call(Call call, engine::CancellationPtr cancellation,
                                          access::ResponseStreamPtr stream);
    Task<access::HttpResponse> serve_batch(Batch batch, engine::CancellationPtr cancellation);
    Task<std::optional<std::string>> serve_element(json::value element, std::string principal,
                                                   engine::CancellationPtr cancellation);

    Dispatcher dispatcher_;
};

}  // namespace belljar::mcp
