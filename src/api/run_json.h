#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "base/json.h"
#include "engine/executor.h"
#include "execution/run_record.h"

namespace belljar::api {

// A run as its owner sees it.
[[nodiscard]] json::object run_json(const execution::RunView& view);
// The same for whoever looks at everybody's: with the principal.
[[nodiscard]] json::object audit_json(const execution::RunView& view);
// With the member `result`: the record of the run, or null. As text, because the record is kept as
// text that needs no second reading.
[[nodiscard]] std::string record_text(const execution::RunRecord& record);
[[nodiscard]] json::object preview_json(const Result<engine::RunPreview>& preview);

[[nodiscard]] json::object run_schema();
[[nodiscard]] json::object audit_schema();
[[nodiscard]] json::object preview_schema();

}  // namespace belljar::api
