#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/gate.h"
#include "access/http_message.h"
#include "access/rights.h"
#include "base/json.h"
#include "base/result.h"
#include "base/task.h"
#include "engine/cancellation.h"

namespace belljar::api {

// A request that has found its operation, by a caller who may ask for it.
struct Call {
    access::HttpRequest request{};
    std::map<std::string, std::string, std::less<>> path_values{};  // decoded; may hold any bytes
    engine::CancellationPtr cancellation{};

    // Of a variable that the path of the operation has.
    [[nodiscard]] const std::string& path_value(std::string_view name) const {
        return path_values.find(name)->second;
    }
};

// Must not be a coroutine with captures: let a lambda return what a member function returns.
using Handler = std::function<Task<access::HttpResponse>(Call)>;

// Something that is sent besides the path and the body.
struct Parameter {
    enum class Place { Query, Header };
    enum class Presence { Optional, Required };

    std::string name{};
    Place place = Place::Query;
    Presence presence = Presence::Optional;
    std::string description{};
    json::object schema{};
};

// What a request carries, or an answer.
struct Content {
    std::string media_type = "application/json";
    json::object schema{};  // JSON Schema 2020-12, or {"$ref": "#/components/schemas/..."}
    std::string description{};
};

struct Answer {
    unsigned status = 200;
    std::string description{};
    std::vector<Content> content{};    // none: an empty body
    std::vector<Parameter> headers{};  // only those worth a word
};

// One thing that can be asked of the service by HTTP: how it is asked for, by whom, what answers it
// and what there is to know about it. The description that clients get is made out of these, so
// there is no path that it does not tell of.
struct Operation {
    std::string id{};      // operationId: createRun
    std::string method{};  // GET answers HEAD, too
    // "/v1/runs/{run_id}". A variable is a segment; "{path...}", which must be the last one, is all
    // that follows, with its slashes.
    std::string path{};
    std::string tag{};
    std::string summary{};      // a line
    std::string description{};  // what more there is to say; Markdown
    access::Gate::Door door = access::Gate::Door::Guarded;
    access::Rights rights{};                             // all of them are needed
    std::map<std::string, json::object> path_schemas{};  // of variables that are not just text
    std::vector<Parameter> parameters{};
    std::vector<Content> bodies{};  // any one of them; none: it takes no body
    bool body_optional = false;
    std::optional<access::BodyPlan> body_plan{};  // nothing: the usual limit, in memory
    std::vector<Answer> answers{};  // what success looks like; refusals are described for all
    Handler handler{};              // none: described here, answered elsewhere
};

}  // namespace belljar::api
