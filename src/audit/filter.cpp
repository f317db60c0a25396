#include "audit/filter.h"

#include "base/utc_time.h"

namespace belljar::audit {
namespace {

bool has_text(std::string_view part, const std::string& text) {
    // Most records are not meant: a look at the bytes is enough to know.
    return part.find(to_text(json::string(text))) != std::string_view::npos;
}

bool has(std::string_view part, std::string_view name, const std::string& text) {
    if (part.empty() || !has_text(part, text)) {
        return false;
    }
    const Result<json::value> parsed = parse_json(part);
    const json::object* object = parsed ? parsed->if_object() : nullptr;
    const json::value* value = object != nullptr ? object->if_contains(name) : nullptr;
    return value != nullptr && value->is_string() && value->get_string() == text;
}

bool fits(const std::optional<std::string>& wanted, std::string_view part, std::string_view name) {
    return !wanted || has(part, name, *wanted);
}

}  // namespace

bool matches(const Filter& filter, const LineParts& parts) {
    if (filter.kind && parts.kind != *filter.kind) {
        return false;
    }
    if (filter.since || filter.until) {
        const auto time = parse_utc(parts.time);
        if (!time || (filter.since && *time < *filter.since) ||
            (filter.until && *time >= *filter.until)) {
            return false;
        }
    }
    return fits(filter.principal, parts.personal, "principal") &&
           fits(filter.conversation_id, parts.personal, "conversation_id") &&
           fits(filter.execution_id, parts.body, "execution_id") &&
           fits(filter.tool, parts.body, "tool") && fits(filter.status, parts.body, "status");
}

}  // namespace belljar::audit
