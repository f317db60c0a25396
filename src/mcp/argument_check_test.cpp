#include "mcp/argument_check.h"

#include <gtest/gtest.h>

namespace belljar::mcp {
namespace {

const std::string_view kSchema = R"({
  "type": "object",
  "properties": {
    "path": {"type": "string", "minLength": 1, "maxLength": 5},
    "count": {"type": "integer", "minimum": 1, "maximum": 3},
    "seconds": {"type": "number", "exclusiveMinimum": 0},
    "mode": {"type": "string", "enum": ["a", "b"]},
    "list": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
    "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    "inner": {"type": "object", "properties": {"x": {"type": "boolean"}}, "required": ["x"],
              "additionalProperties": false},
    "texts": {"type": "object", "additionalProperties": {"type": "string"}}
  },
  "required": ["path"],
  "additionalProperties": false
})";

std::string fault(std::string_view arguments) {
    const Result<void> checked = check_arguments(parse_json(arguments).value().as_object(),
                                                 parse_json(kSchema).value().as_object());
    return checked ? "" : checked.error().message;
}

TEST(ArgumentCheck, TakesWhatTheSchemaAllows) {
    EXPECT_EQ(fault(R"({"path":"a"})"), "");
    EXPECT_EQ(fault(R"({"path":"a","count":3,"seconds":0.1,"mode":"b","list":["x","y"],"either":1,
                        "inner":{"x":true},"texts":{"k":"v"}})"),
              "");
    EXPECT_EQ(fault(R"({"path":"a","count":null})"), "");
}

TEST(ArgumentCheck, NamesWhatIsWrongAndWhatIsAllowed) {
    EXPECT_EQ(fault("{}"), R"("path" is required)");
    EXPECT_EQ(fault(R"({"path":null})"), R"("path" is required)");
    EXPECT_EQ(fault(R"({"path":1})"), R"("path" must be a string, not an integer)");
    EXPECT_EQ(fault(R"({"path":""})"), R"("path" must not be empty)");
    EXPECT_EQ(fault(R"({"path":"abcdef"})"), R"("path" is longer than 5 bytes)");
    EXPECT_EQ(fault(R"({"path":"a","count":0})"), R"("count" must be at least 1)");
    EXPECT_EQ(fault(R"({"path":"a","count":4})"), R"("count" must be at most 3)");
    EXPECT_EQ(fault(R"({"path":"a","count":1.5})"), R"("count" must be an integer, not a number)");
    EXPECT_EQ(fault(R"({"path":"a","seconds":0})"), R"("seconds" must be greater than 0)");
    EXPECT_EQ(fault(R"({"path":"a","mode":"c"})"), R"("mode" must be one of "a", "b")");
    EXPECT_EQ(fault(R"({"path":"a","list":["x","y","z"]})"), R"("list" may have at most 2 items)");
    EXPECT_EQ(fault(R"({"path":"a","list":[1]})"),
              R"(each item of "list" must be a string, not an integer)");
    EXPECT_EQ(fault(R"({"path":"a","inner":{}})"), R"("x" is required)");
    EXPECT_EQ(fault(R"({"path":"a","inner":{"x":true,"y":1}})"),
              R"(unknown argument "y"; allowed are x)");
    EXPECT_EQ(fault(R"({"path":"a","texts":{"k":1}})"), R"("k" must be a string, not an integer)");
    EXPECT_NE(fault(R"({"path":"a","either":[]})"), "");
}

TEST(ArgumentCheck, AnUnknownArgumentIsRefusedByName) {
    const std::string sentence = fault(R"({"path":"a","pth":"b"})");
    EXPECT_EQ(sentence, R"(unknown argument "pth"; allowed are path, count, seconds, mode, list, )"
                        "either, inner, texts");
}

}  // namespace
}  // namespace belljar::mcp
