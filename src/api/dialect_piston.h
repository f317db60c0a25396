#pragma once

#include "api/route_group.h"
#include "engine/executor.h"

namespace belljar::api {

// For clients of Piston's second API: GET /api/v2/runtimes and POST /api/v2/execute. A program that
// a compiler refuses is told in `run`: here both are one run.
class PistonRoutes final : public RouteGroup {
   public:
    explicit PistonRoutes(engine::Executor& executor) : executor_(executor) {}

    void add_to(OperationTable& table) override;

   private:
    Task<access::HttpResponse> runtimes();
    Task<access::HttpResponse> execute(Call call);

    engine::Executor& executor_;
};

// The first number with dots in what an interpreter says of itself; "0.0.0" if there is none.
[[nodiscard]] std::string plain_version(std::string_view text);

// Whether a version is one of those that a selector such as "*", "3", "3.x", "^3.9" or ">=3.1"
// means.
[[nodiscard]] bool selects(std::string_view selector, std::string_view version);

}  // namespace belljar::api
