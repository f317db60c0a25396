#pragma once

#include <boost/json/array.hpp>

#include "mcp/json_rpc.h"

namespace belljar::mcp {

// One page of a list that is known as a whole: the members `name` and, if there is more,
// "nextCursor". The page begins where params.cursor says.
[[nodiscard]] RpcResult<json::object> make_page(std::string_view name, json::array items,
                                                const json::object& params,
                                                std::size_t page_size = 500);

}  // namespace belljar::mcp
