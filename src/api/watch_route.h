#pragma once

#include "access/http_message.h"
#include "base/task.h"
#include "engine/cancellation.h"
#include "engine/run_feed.h"

namespace belljar::api {

// GET /mcp/events: the caller's own runs as server-sent events, for as long as it listens.
//   run_started   {"execution_id", "language"}
//   run_output    {"execution_id", "stream", "text"}, only with ?output=1
//   run_finished  {"execution_id", "status", "success", ...}
//   gap           {}: after Last-Event-ID, if not all that was missed is remembered
//   dropped       {"events"}: how many were left out here, because the watcher reads slowly
// Borrows the feed; there may be none.
class WatchRoute {
   public:
    explicit WatchRoute(engine::RunFeed* feed) : feed_(feed) {}

    // Returns when the caller has gone, or reads nothing.
    Task<access::HttpResponse> watch(access::HttpRequest request,
                                     engine::CancellationPtr cancellation);

   private:
    engine::RunFeed* feed_;
};

}  // namespace belljar::api
