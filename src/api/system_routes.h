#pragma once

#include <functional>
#include <utility>

#include "api/route_group.h"
#include "engine/executor.h"

namespace belljar::api {

// What the service tells of itself: /health, /ready, /metrics, /openapi.json, /v1/runners.
class SystemRoutes final : public RouteGroup {
   public:
    SystemRoutes(engine::Executor& executor, std::function<bool()> is_ready)
        : executor_(executor), is_ready_(std::move(is_ready)) {}

    void add_to(OperationTable& table) override;

   private:
    [[nodiscard]] access::HttpResponse health() const;
    [[nodiscard]] access::HttpResponse ready() const;
    [[nodiscard]] access::HttpResponse metrics() const;
    [[nodiscard]] access::HttpResponse description() const;
    Task<access::HttpResponse> runners();

    engine::Executor& executor_;
    std::function<bool()> is_ready_;
    const OperationTable* table_ = nullptr;
};

}  // namespace belljar::api
