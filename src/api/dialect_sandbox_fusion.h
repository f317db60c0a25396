#pragma once

#include "api/route_group.h"
#include "engine/executor.h"

namespace belljar::api {

// For clients of SandboxFusion: POST /run_code and GET /v1/ping. A program that a compiler refuses
// is told in `run_result`: here both are one run.
class SandboxFusionRoutes final : public RouteGroup {
   public:
    explicit SandboxFusionRoutes(engine::Executor& executor) : executor_(executor) {}

    void add_to(OperationTable& table) override;

   private:
    Task<access::HttpResponse> run_code(Call call);
    // Runs it where files are kept, takes those that are asked for, and forgets the rest.
    Task<access::HttpResponse> run_and_fetch(execution::RunRequest run,
                                             std::vector<std::string> wanted,
                                             engine::CancellationPtr cancellation);

    engine::Executor& executor_;
};

}  // namespace belljar::api
