#include "mcp/page.h"

#include <gtest/gtest.h>

namespace belljar::mcp {
namespace {

const json::array kItems{1, 2, 3, 4, 5};

TEST(Page, GivesAllOfAShortList) {
    const json::object page = make_page("things", kItems, {}).value();
    EXPECT_EQ(to_text(page), R"({"things":[1,2,3,4,5]})");
    EXPECT_EQ(to_text(make_page("things", {}, {}).value()), R"({"things":[]})");
}

TEST(Page, EachCursorLeadsToTheNext) {
    json::array seen;
    json::object params;
    for (int pages = 1;; ++pages) {
        const json::object page = make_page("things", kItems, params, 2).value();
        for (const json::value& item : page.at("things").as_array()) {
            seen.push_back(item);
        }
        if (!page.contains("nextCursor")) {
            EXPECT_EQ(pages, 3);
            break;
        }
        params["cursor"] = page.at("nextCursor");
    }
    EXPECT_EQ(seen, kItems);
}

TEST(Page, RefusesCursorsThatItDidNotGive) {
    for (const json::value& cursor : json::array{"", "2", "from-", "from-6", "from--1", "from-1x",
                                                 "from-99999999999999999999", 2, nullptr}) {
        const RpcResult<json::object> page = make_page("things", kItems, {{"cursor", cursor}});
        EXPECT_EQ(page.error().code, RpcCode::InvalidParams) << to_text(cursor);
    }
}

}  // namespace
}  // namespace belljar::mcp
