#pragma once

#include "api/route_group.h"
#include "engine/executor.h"

namespace belljar::api {

// Conversations, whose files outlive runs: POST and GET /v1/conversations, GET and DELETE
// /v1/conversations/{conversation_id}, and GET /v1/usage, what the caller has used.
class ConversationRoutes final : public RouteGroup {
   public:
    explicit ConversationRoutes(engine::Executor& executor) : executor_(executor) {}

    void add_to(OperationTable& table) override;

   private:
    void add_schemas(OperationTable& table) const;
    void add_usage(OperationTable& table);

    Task<access::HttpResponse> create(Call call);
    Task<access::HttpResponse> list(Call call);
    Task<access::HttpResponse> show(Call call);
    Task<access::HttpResponse> remove(Call call);
    Task<access::HttpResponse> usage(Call call);

    engine::Executor& executor_;
};

}  // namespace belljar::api
