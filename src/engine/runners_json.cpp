#include "engine/runners_json.h"

#include <boost/json/object.hpp>

#include "base/utf8.h"
#include "outcome/result_json.h"

namespace belljar::engine {

json::array runners_json(const SandboxInfo& info) {
    json::array runners;
    for (const SandboxInfo::Runner& runner : info.runners) {
        json::object entry{{"language", runner.language},
                           {"title", runner.title},
                           {"aliases", json::array(runner.aliases.begin(), runner.aliases.end())},
                           {"runner", runner.runner},
                           {"version", make_valid_utf8(runner.version)},
                           {"usable", runner.usable}};
        if (!runner.usable) {
            entry["reason"] = make_valid_utf8(runner.reason);
        }
        entry["kind"] = name_of(runner.kind);
        entry["limits"] = outcome::to_json(runner.limits);
        runners.push_back(std::move(entry));
    }
    return runners;
}

}  // namespace belljar::engine
