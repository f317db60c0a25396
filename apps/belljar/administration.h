#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "access/rate_limiter.h"
#include "access/request_counters.h"
#include "access/token_book.h"
#include "api/routes.h"
#include "audit/trail.h"
#include "base/fd.h"
#include "engine/recorder.h"
#include "reload.h"
#include "runtime.h"
#include "storage/conversation_store.h"
#include "transport/http_router.h"
#include "transport/http_server.h"

namespace belljar::apps {

// What limits and counts requests, and the operations for administrators. Borrows everything;
// outlives the routes.
class Administration {
   public:
    // `token` is the one that the server shows at its first start; empty: there is none.
    Administration(Runtime& runtime, Reload& reload, const Fd& token_folder, std::string token);

    // From now on it is told of decisions. nullptr: there is none.
    void record_with(engine::Recorder* recorder, audit::Trail* trail);
    [[nodiscard]] transport::HttpRouter::Watch watch();
    // Adds the operations; from now on connections are counted, and the store asks what tokens may
    // keep.
    void attach(transport::HttpServer& http, api::Routes& routes,
                storage::ConversationStore& store);

   private:
    void limit(storage::ConversationStore& store);

    void tell(const transport::HttpRouter::Answered& answered);

    Runtime& runtime_;
    Reload& reload_;
    engine::Recorder* recorder_ = nullptr;
    audit::Trail* trail_ = nullptr;
    const Fd& token_folder_;
    access::RateLimiter limiter_;
    access::RequestCounters counters_;
    std::vector<std::string> secrets_;
    std::mutex store_mutex_;
    access::TokenBook store_book_;  // for threads of the store, one at a time
};

}  // namespace belljar::apps
