#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "access/request_counters.h"
#include "api/route_group.h"
#include "engine/executor.h"

namespace belljar::api {

// What the service tells of itself: /health, /ready, /metrics, /openapi.json, /v1/runners
// and /v1/runners/{language}.
class SystemRoutes final : public RouteGroup {
   public:
    // All are borrowed; there may be no counters.
    SystemRoutes(engine::Executor& executor, std::function<bool()> is_ready,
                 const access::RequestCounters* requests,
                 const std::vector<std::function<std::string()>>& more_figures)
        : executor_(executor),
          is_ready_(std::move(is_ready)),
          requests_(requests),
          more_figures_(more_figures) {}

    void add_to(OperationTable& table) override;

   private:
    void add_description(OperationTable& table);
    void add_runners(OperationTable& table);

    [[nodiscard]] access::HttpResponse health() const;
    [[nodiscard]] access::HttpResponse ready() const;
    [[nodiscard]] access::HttpResponse metrics() const;
    [[nodiscard]] access::HttpResponse description(const access::HttpRequest& request);
    Task<access::HttpResponse> runners(Call call);
    Task<access::HttpResponse> runner(Call call);

    engine::Executor& executor_;
    std::function<bool()> is_ready_;
    const access::RequestCounters* requests_;
    const std::vector<std::function<std::string()>>& more_figures_;
    const OperationTable* table_ = nullptr;
    std::string description_;  // empty: nobody has asked
    std::string description_tag_;
};

}  // namespace belljar::api
