#include "api/paging.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>

#include "api/operation_parts.h"
#include "base/json.h"
#include "base/percent.h"

namespace belljar::api {

using access::HttpRequest;
using access::HttpResponse;

Result<execution::PageQuery> read_page(const Query& query) {
    constexpr std::size_t kLongestCursor = 1024;
    BJ_TRY(const std::optional<std::uint64_t> limit, query.number("limit", {1, kLongestPage}));
    std::string cursor = query.text("cursor").value_or("");
    if (cursor.size() > kLongestCursor) {
        return fail(ErrorCode::InvalidArgument,
                    "\"cursor\" must be the next_cursor of the page before");
    }
    return execution::PageQuery{.after = std::move(cursor), .limit = limit.value_or(kUsualPage)};
}

HttpResponse make_page(const HttpRequest& request, json::object page, const std::string& next) {
    HttpResponse response;
    if (next.empty()) {
        page["next_cursor"] = nullptr;
    } else {
        std::string query;
        for (const auto& [name, value] : parse_query(request.query).value_or(QueryValues{})) {
            if (name != "cursor") {
                query += fmt::format("{}={}&", percent_encoded(name), percent_encoded(value));
            }
        }
        page["next_cursor"] = next;
        response.headers.emplace_back(
            "Link", fmt::format("<{}?{}cursor={}>; rel=\"next\"", request.path, query,
                                percent_encoded(next)));
    }
    response.body = to_text(page);
    return response;
}

std::vector<Parameter> page_parameters() {
    return {query_parameter("limit", "How many at most.",
                            {{"type", "integer"},
                             {"minimum", 1},
                             {"maximum", kLongestPage},
                             {"default", kUsualPage}}),
            query_parameter("cursor", "`next_cursor` of the page before.",
                            {{"type", "string"}, {"maxLength", 1024}})};
}

json::object page_schema(std::string_view name, std::string_view item) {
    return object_schema(
        {{name, {{"type", "array"}, {"items", reference(item)}}},
         {"next_cursor",
          {{"type", json::array{"string", "null"}},
           {"description", "For the next page; null where this is the last one."}}}},
        {name, "next_cursor"});
}

Answer page_answer(std::string_view schema, std::string_view description) {
    Answer answer = answer_in(schema, description);
    answer.headers = {header_parameter("Link", "The next page, if there is one.")};
    return answer;
}

}  // namespace belljar::api
