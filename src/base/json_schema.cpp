#include "base/json_schema.h"

#include "base/assert.h"

namespace belljar {

json::object schema_from(std::string_view text) {
    Result<json::value> value = parse_json(text);
    BJ_ASSERT(value.has_value() && value->is_object());
    return std::move(value->get_object());
}

void describe_member(json::object& schema, std::string_view property,
                     std::string_view description) {
    schema.at("properties").as_object().at(property).as_object()["description"] = description;
}

}  // namespace belljar
