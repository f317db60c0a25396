#include "alerts/alert.h"

#include <boost/json/array.hpp>

#include "base/utc_time.h"
#include "base/utf8.h"

namespace belljar::alerts {
namespace {

constexpr std::size_t kLongestText = 1024;

json::string shown(std::string_view text) {
    return json::string(make_valid_utf8(text.substr(0, kLongestText)));
}

}  // namespace

json::object to_json(const Alert& alert) {
    const execution::SecurityEvent& event = alert.event;
    json::object details;
    for (const auto& [name, value] : event.details) {
        details[shown(name)] = shown(value);
    }
    json::object object{{"id", alert.id},
                        {"time", format_utc(alert.time)},
                        {"rule", alert.rule.name},
                        {"severity", execution::name_of(alert.rule.severity)},
                        {"events", alert.events},
                        {"window_seconds", to_seconds(alert.rule.window)},
                        {"kind", shown(event.kind)},
                        {"name", shown(event.name)},
                        {"text", shown(event.text)},
                        {"details", std::move(details)}};
    if (alert.principal) {
        object["principal"] = shown(*alert.principal);
    }
    if (!alert.address.empty()) {
        object["address"] = shown(alert.address);
    }
    if (event.execution_id) {
        object["execution_id"] = shown(*event.execution_id);
    }
    if (event.conversation_id) {
        object["conversation_id"] = shown(*event.conversation_id);
    }
    json::array done;
    for (const std::string& sentence : alert.done) {
        done.push_back(shown(sentence));
    }
    object["done"] = std::move(done);
    return object;
}

}  // namespace belljar::alerts
