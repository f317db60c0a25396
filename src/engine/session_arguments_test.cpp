#include "engine/session_arguments.h"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>

namespace belljar::engine {
namespace {

Result<std::optional<execution::SessionOrder>> parse(const std::string& text) {
    return parse_session_arguments(parse_json(text).value().get_object());
}

TEST(SessionArguments, AListNeedsNothing) {
    const auto order = parse(R"({"action":"list"})");
    ASSERT_TRUE(order);
    EXPECT_FALSE(order->has_value());
}

TEST(SessionArguments, AnOrderNamesItsSession) {
    const auto order = parse(R"({"action":"undo","session_id":"s-1","cells":3})").value();
    ASSERT_TRUE(order);
    EXPECT_EQ(order->action, execution::SessionAction::Undo);
    EXPECT_EQ(order->session_id, "s-1");
    EXPECT_EQ(order->cells, 3U);
    EXPECT_EQ(parse(R"({"action":"diff","session_id":"s"})").value()->cells, 1U);
}

TEST(SessionArguments, WhatIsWrongIsSaid) {
    for (const std::string& text :
         {R"({})", R"({"action":"jump"})", R"({"action":1})", R"({"action":"end"})",
          R"({"action":"end","session_id":""})", R"({"action":"end","session_id":5})",
          R"({"action":"undo","session_id":"s","cells":0})",
          R"({"action":"undo","session_id":"s","cells":-1})",
          R"({"action":"undo","session_id":"s","cells":1.5})",
          R"({"action":"undo","session_id":"s","cells":"1"})", R"({"action":"list","other":1})"}) {
        const auto order = parse(text);
        ASSERT_FALSE(order) << text;
        EXPECT_EQ(order.error().code, ErrorCode::InvalidArgument);
    }
}

}  // namespace
}  // namespace belljar::engine
