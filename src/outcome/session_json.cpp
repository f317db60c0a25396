#include "outcome/session_json.h"

#include <boost/json/array.hpp>

#include "base/utf8.h"

namespace belljar::outcome {
namespace {

namespace json = boost::json;

json::array texts(const std::vector<std::string>& names) {
    json::array array;
    for (const std::string& name : names) {
        array.emplace_back(make_valid_utf8(name));
    }
    return array;
}

json::object changes(const execution::Changes& found) {
    return {{"added", texts(found.added)},
            {"changed", texts(found.changed)},
            {"removed", texts(found.removed)}};
}

std::string_view name_of(execution::CellNews::State state) {
    switch (state) {
        case execution::CellNews::State::Kept:
            return "kept";
        case execution::CellNews::State::RolledBack:
            return "rolled_back";
        case execution::CellNews::State::Lost:
            return "lost";
    }
    return "";
}

}  // namespace

json::object to_json(const execution::SessionView& view) {
    json::object object{{"session_id", view.session_id},
                        {"language", view.language},
                        {"cells", view.cells},
                        {"busy", view.busy},
                        {"idle_seconds", to_seconds(view.idle)},
                        {"expires_in_seconds", to_seconds(view.expires)},
                        {"checkpoints", view.checkpoints}};
    if (view.conversation_id) {
        object["conversation_id"] = *view.conversation_id;
    }
    if (view.forked) {
        object["forked_from"] = *view.forked;
    }
    if (view.diff) {
        object["diff"] = {{"variables", changes(view.diff->variables)},
                          {"files", changes(view.diff->files)}};
    }
    return object;
}

json::object to_json(const execution::CellNews& news) {
    return {{"cell", news.cell}, {"state", name_of(news.state)}, {"notes", texts(news.notes)}};
}

}  // namespace belljar::outcome
