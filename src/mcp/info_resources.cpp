#include "mcp/info_resources.h"

#include <boost/json/array.hpp>

#include "engine/runners_json.h"
#include "mcp/text_view.h"
#include "outcome/result_json.h"

namespace belljar::mcp {
namespace {

constexpr std::string_view kRunners = "belljar://runners";
constexpr std::string_view kPolicy = "belljar://policy";
constexpr std::string_view kJson = "application/json";
// Languages come and go with what the operator installs, limits with a restart.
constexpr std::chrono::seconds kLifetime{60};

json::object policy_json(const engine::SandboxInfo& info) {
    return {{"limits", json::object{{"default", outcome::to_json(info.default_limits)},
                                    {"maximum", outcome::to_json(info.maximum_limits)}}},
            {"isolation", outcome::to_json(info.isolation)},
            {"network", "none"}};
}

// The same for a program and for a reader.
ResourceContents both_forms(std::string_view uri, const json::value& object, std::string text) {
    return {
        .parts = {{.uri = std::string(uri), .mime = std::string(kJson), .bytes = to_text(object)},
                  {.uri = std::string(uri), .mime = "text/plain", .bytes = std::move(text)}},
        .lifetime = kLifetime};
}

}  // namespace

Task<std::vector<ResourceDefinition>> InfoResources::resources(Asker /*asker*/) {
    const engine::SandboxInfo info = executor_.info();
    co_return std::vector<ResourceDefinition>{
        {.uri = std::string(kRunners),
         .name = "runners",
         .title = "Languages",
         .description = "Every language that programs can be written in here, with its version "
                        "and limits, or why it cannot be used.",
         .mime = std::string(kJson),
         .size = to_text(json::object{{"runners", engine::runners_json(info)}}).size()},
        {.uri = std::string(kPolicy),
         .name = "policy",
         .title = "Limits and isolation",
         .description = "What a run may use unless it asks for more, what it may ask for, how well "
                        "it is isolated on this machine and what is missing for more.",
         .mime = std::string(kJson),
         .size = to_text(policy_json(info)).size()}};
}

bool InfoResources::owns_resource(std::string_view uri) const {
    return uri == kRunners || uri == kPolicy;
}

Task<RpcResult<Round<ResourceContents>>> InfoResources::read_resource(
    ResourceRequest request, engine::CancellationPtr /*cancellation*/) {
    const engine::SandboxInfo info = co_await executor_.survey();
    if (request.uri == kRunners) {
        co_return both_forms(kRunners, json::object{{"runners", engine::runners_json(info)}},
                             runners_view(info));
    }
    co_return both_forms(kPolicy, policy_json(info), text_view(info));
}

}  // namespace belljar::mcp
