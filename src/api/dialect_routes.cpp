#include "api/dialect_routes.h"

#include <boost/json/array.hpp>
#include <string>

#include "api/operation_parts.h"
#include "api/web_routes.h"
#include "base/json.h"

namespace belljar::api {
namespace {

using access::HttpResponse;

Operation installation(std::string_view id, std::string_view path) {
    const json::object text{{"type", "string"}};
    return {
        .id = std::string(id),
        .method = "POST",
        .path = std::string(path),
        .tag = "compatibility",
        .summary = "Asks for a Python package",
        .description =
            "Says whether the package is there, with its version. Packages cannot be installed "
            "yet: for one that is missing, `success` is false and `message` says so.",
        .rights = {access::Right::Packages},
        .bodies = {{.schema = {{"type", "object"},
                               {"required", json::array{"package"}},
                               {"properties",
                                json::object{{"package", text}, {"version", text}}}}}},
        .answers = {
            {.description = "Whether it can be imported.",
             .content = {{.schema = {{"type", "object"},
                                     {"required", json::array{"success", "message"}},
                                     {"properties",
                                      json::object{{"success", json::object{{"type", "boolean"}}},
                                                   {"message", text}}}}}}}}};
}

}  // namespace

void DialectRoutes::add_to(OperationTable& table) {
    table.add(
        {.id = "introduce",
         .method = "GET",
         .path = "/",
         .tag = "system",
         .summary = "What is here: for programs in JSON, for browsers the web interface",
         .door = access::Gate::Door::Open,
         .parameters = {header_parameter("Accept", "With `text/html` in it: the web interface.")},
         .answers = {{.description = "Where to go on.",
                      .content = {{.schema = {{"type", "object"},
                                              {"required", json::array{"status", "message"}}}},
                                  {.media_type = "text/html", .schema = {{"type", "string"}}}}}},
         .handler = [this](Call call) { return introduce(std::move(call)); }});
    table.add(installation("installPackage", "/pip_install"));
    table.add(installation("installPackageAtOtherPath", "/pip/install"));
}

Task<HttpResponse> DialectRoutes::introduce(Call call) {
    if (wants_page(call.request)) {
        co_return web_page(call.request);
    }
    const engine::SandboxInfo info = executor_.info();
    json::array languages;
    for (const engine::SandboxInfo::Runner& runner : info.runners) {
        if (runner.usable) {
            languages.emplace_back(runner.language);
        }
    }
    const json::object endpoints{{"mcp", "/mcp"},         {"execute", "/execute"},
                                 {"health", "/health"},   {"ready", "/ready"},
                                 {"metrics", "/metrics"}, {"openapi", "/openapi.json"},
                                 {"docs", "/docs"}};
    co_return HttpResponse{
        .headers = {{"Vary", "Accept"}},
        .body = to_text(json::object{{"status", "ok"},
                                     {"message", "Belljar runs untrusted code in sandboxes"},
                                     {"protocol", "MCP"},
                                     {"languages", std::move(languages)},
                                     {"tools_path", "/tools"},
                                     {"endpoints", endpoints},
                                     {"authentication", "Authorization: Bearer <token>"}})};
}

}  // namespace belljar::api
