#include "api/caller_routes.h"

#include <boost/json/array.hpp>

#include "api/operation_parts.h"
#include "base/json.h"
#include "base/utf8.h"
#include "outcome/result_json.h"

namespace belljar::api {

using access::HttpResponse;

void CallerRoutes::add_to(OperationTable& table) {
    const json::object text{{"type", "string"}};
    table.add_schema(
        "Caller",
        object_schema({{"principal", text},
                       {"rights", json::object{{"type", "array"}, {"items", text}}},
                       {"version", text},
                       {"isolation", json::object{{"type", "object"},
                                                  {"required", json::array{"grade", "missing"}}}}},
                      {"principal", "rights", "version", "isolation"}));
    table.add({.id = "getCaller",
               .method = "GET",
               .path = "/v1/caller",
               .tag = "system",
               .summary = "Who the caller is, what it may do, and what it talks to",
               .description = "`principal` is empty for the one without a name. `rights` are those "
                              "that `x-rights` of an operation asks for.",
               .answers = {answer_in("Caller", "The caller.")},
               .handler = [this](Call call) { return answer_at_once(describe(call.request)); }});
}

HttpResponse CallerRoutes::describe(const access::HttpRequest& request) const {
    json::array rights;
    for (const access::Right right : access::kAllRights) {
        if (access::allows(request.rights, right)) {
            rights.emplace_back(access::name_of(right));
        }
    }
    const engine::SandboxInfo info = executor_.info();
    return {.body = to_text(json::object{{"principal", make_valid_utf8(request.principal)},
                                         {"rights", std::move(rights)},
                                         {"version", info.version},
                                         {"isolation", outcome::to_json(info.isolation)}})};
}

}  // namespace belljar::api
