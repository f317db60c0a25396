#include "api/needed_rights.h"

#include "api/session_routes.h"

namespace belljar::api {

using access::Right;
using access::Rights;

Rights needed_rights(const access::HttpRequest& request) {
    const std::string& path = request.path;
    if (path == "/metrics") {
        return {Right::MetricsRead};
    }
    if (path == "/execute" || path == "/v1/runs" || path == "/v1/runs:batch" ||
        path == "/mcp/events") {
        return {Right::RunExec};
    }
    if (path == "/v1/sessions" && request.method == "POST") {
        return {Right::Sessions, Right::RunExec};
    }
    if (SessionRoutes::is_mine(request)) {
        return {Right::Sessions};
    }
    if (path.starts_with("/v1/runs/")) {
        return {Right::FilesRead};
    }
    return {};
}

}  // namespace belljar::api
