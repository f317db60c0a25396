#include "engine/result_text.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string_view>

#include "base/json.h"
#include "base/utf8.h"
#include "outcome/result_json.h"

namespace belljar::engine {
namespace {

// In the order in which they go.
constexpr std::array<std::string_view, 8> kParts{"outputs", "result",      "stdout",    "stderr",
                                                 "files",   "result_repr", "variables", "error"};

// A twentieth of the whole for each, so that all of them together fit with what is never cut.
json::value shortened(const json::value& part, std::size_t room) {
    if (part.is_string()) {
        const std::string_view text = part.get_string();
        // A character may become six in JSON.
        return json::value(utf8_beginning(text, room / 6));
    }
    if (!part.is_array()) {
        return nullptr;
    }
    json::array some;
    std::size_t used = 0;
    for (const json::value& item : part.get_array()) {
        used += to_text(item).size();
        if (used > room) {
            break;
        }
        some.push_back(item);
    }
    return some;
}

}  // namespace

std::string remembered_text(const execution::RunResult& result, std::size_t longest) {
    json::object record = outcome::to_json(result);
    std::string text = to_text(record);
    json::array cut;
    for (const std::string_view name : kParts) {
        if (text.size() <= longest) {
            break;
        }
        json::value* const part = record.if_contains(name);
        const std::size_t room = longest / 20;
        if (part == nullptr || to_text(*part).size() <= room) {
            continue;
        }
        *part = name == "outputs" ? json::value(json::array()) : shortened(*part, room);
        if (name == "stdout" || name == "stderr") {
            record[std::string(name) + "_truncated"] = true;
        }
        cut.emplace_back(name);
        record["record_shortened"] = cut;
        text = to_text(record);
    }
    return text;
}

}  // namespace belljar::engine
