#include "mcp/page.h"

#include <fmt/format.h>

#include <charconv>

namespace belljar::mcp {
namespace {

constexpr std::string_view kPrefix = "from-";

// Where the page begins; nothing if the cursor is none of ours.
std::optional<std::size_t> begin_of(const json::value& cursor) {
    const json::string* text = cursor.if_string();
    if (text == nullptr || !text->starts_with(kPrefix)) {
        return std::nullopt;
    }
    const std::string_view digits = std::string_view(*text).substr(kPrefix.size());
    std::size_t begin = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), begin);
    return error == std::errc{} && end == digits.end() ? std::optional(begin) : std::nullopt;
}

}  // namespace

RpcResult<json::object> make_page(std::string_view name, json::array items,
                                  const json::object& params, std::size_t page_size) {
    std::size_t begin = 0;
    if (const json::value* cursor = params.if_contains("cursor")) {
        const std::optional<std::size_t> given = begin_of(*cursor);
        if (!given || *given > items.size()) {
            return rpc_fail(RpcCode::InvalidParams,
                            "params.cursor is not one that this list gave; leave it out to begin "
                            "with the first page.");
        }
        begin = *given;
    }
    const std::size_t end = std::min(items.size(), begin + page_size);
    json::object page;
    json::array& shown = page[name].emplace_array();
    for (std::size_t index = begin; index < end; ++index) {
        shown.push_back(std::move(items[index]));
    }
    if (end < items.size()) {
        page["nextCursor"] = fmt::format("{}{}", kPrefix, end);
    }
    return page;
}

}  // namespace belljar::mcp
