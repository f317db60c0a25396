#include "base/json_text.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <limits>

namespace belljar {
namespace {

TEST(JsonText, WritesWhatAnObjectWouldWrite) {
    JsonText text;
    json::object object;
    for (const double number : {0.0, 1.0, 0.5, -2.25, 1e100, 0.1}) {
        const std::string name = "double " + std::to_string(number);
        text.add(name, number);
        object[name] = number;
    }
    text.add("least", std::numeric_limits<std::int64_t>::min());
    object["least"] = std::numeric_limits<std::int64_t>::min();
    text.add("most", std::numeric_limits<std::uint64_t>::max());
    object["most"] = std::numeric_limits<std::uint64_t>::max();
    text.add("small", 7);
    object["small"] = 7;
    text.add("true", true);
    object["true"] = true;
    text.add("false", false);
    object["false"] = false;
    text.add_null("null");
    object["null"] = nullptr;
    EXPECT_EQ(text.text(), to_text(object));
}

TEST(JsonText, EscapesEveryLetterAlike) {
    std::string letters;
    for (int letter = 0; letter < 0x80; ++letter) {
        letters += static_cast<char>(letter);
    }
    letters += "é€🔔\"";
    JsonText text;
    text.add(letters, letters);
    text.add("", "");
    text.add("bare", "bare");
    EXPECT_EQ(text.text(), to_text(json::object{{letters, letters}, {"", ""}, {"bare", "bare"}}));
}

TEST(JsonText, Nests) {
    JsonText text;
    EXPECT_TRUE(text.empty());
    EXPECT_EQ(text.text(), "{}");
    text.begin_object("empty");
    text.end_object();
    EXPECT_FALSE(text.empty());
    text.begin_array("none");
    text.end_array();
    text.begin_object("object");
    text.add("brace", "{");
    text.add("bracket", "[");
    text.end_object();
    text.begin_array("array");
    text.add_item("[");
    text.add_item("");
    text.begin_item();
    text.add("a", 1);
    text.add("b", 2);
    text.end_item();
    text.begin_item();
    text.end_item();
    text.begin_list();
    text.add_item("x");
    text.add_item("y");
    text.end_array();
    text.end_array();
    text.add("last", "x");
    std::string behind = "before ";
    text.append_to(behind);
    EXPECT_EQ(behind, "before " + text.text());
    EXPECT_EQ(text.text(), R"({"empty":{},"none":[],"object":{"brace":"{","bracket":"["},)"
                           R"("array":["[","",{"a":1,"b":2},{},["x","y"]],"last":"x"})");
}

TEST(JsonText, IsMadeOfMembersAndGoesOn) {
    JsonText text{{"a", 1}, {"b", json::array{"x"}}};
    text.add("c", "y");
    EXPECT_EQ(text.text(), R"({"a":1,"b":["x"],"c":"y"})");
    EXPECT_TRUE(JsonText(JsonText{}).empty());
}

}  // namespace
}  // namespace belljar
