#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "api/operation.h"
#include "api/query.h"
#include "execution/conversation.h"

namespace belljar::api {

// Lists come in pages: `limit` says how long, `cursor` is the `next_cursor` of the page before.
inline constexpr std::size_t kUsualPage = 50;
inline constexpr std::size_t kLongestPage = 200;

[[nodiscard]] Result<execution::PageQuery> read_page(const Query& query);

// The list as JSON with `next_cursor`, null at the end, and a Link header to the next page.
[[nodiscard]] access::HttpResponse make_page(const access::HttpRequest& request, json::object page,
                                             const std::string& next);

// Their description, and that of an object which holds a list under `name`.
[[nodiscard]] std::vector<Parameter> page_parameters();
[[nodiscard]] json::object page_schema(std::string_view name, std::string_view item);
[[nodiscard]] Answer page_answer(std::string_view schema, std::string_view description);

}  // namespace belljar::api
