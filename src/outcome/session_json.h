#pragma once

#include <boost/json/object.hpp>

#include "execution/session.h"

namespace belljar::outcome {

// As every dialect shows it.
[[nodiscard]] boost::json::object to_json(const execution::SessionView& view);
[[nodiscard]] boost::json::object to_json(const execution::CellNews& news);

}  // namespace belljar::outcome
