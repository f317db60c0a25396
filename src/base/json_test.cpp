#include "base/json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "base/utf8.h"

namespace belljar {
namespace {

std::string nested_arrays(std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
}

std::string nested_objects(std::size_t depth) {
    std::string text;
    for (std::size_t level = 1; level < depth; ++level) {
        text += R"({"a":)";
    }
    return text + "{}" + std::string(depth - 1, '}');
}

std::string message_for(std::string_view text) {
    const Result<json::value> value = parse_json(text);
    EXPECT_FALSE(value) << text;
    if (value) {
        return "";
    }
    EXPECT_EQ(value.error().code, ErrorCode::InvalidArgument) << text;
    EXPECT_TRUE(is_valid_utf8(value.error().message)) << text;
    return value.error().message;
}

TEST(ParseJson, ReadsEveryKindOfValue) {
    EXPECT_TRUE(parse_json("null")->is_null());
    EXPECT_TRUE(parse_json(" true ")->as_bool());
    EXPECT_EQ(parse_json("-1")->as_int64(), -1);
    EXPECT_EQ(parse_json("1.5")->as_double(), 1.5);
    EXPECT_EQ(parse_json(R"("a\n\u00e9")")->as_string(), "a\n\xC3\xA9");
    EXPECT_EQ(parse_json("[1,2,3]\n")->as_array().size(), 3U);
    const json::value value = parse_json(R"({"a":{"b":[{}, "c"]},"d":null})").value();
    EXPECT_EQ(value.at("a").at("b").at(1).as_string(), "c");
    EXPECT_TRUE(value.at("d").is_null());
}

TEST(ParseJson, Takes64LevelsAndRefuses65) {
    EXPECT_TRUE(parse_json(nested_arrays(64)));
    EXPECT_TRUE(parse_json(nested_objects(64)));
    for (const std::string& text : {nested_arrays(65), nested_objects(65), nested_arrays(10'000),
                                    nested_objects(10'000), std::string(100'000, '[')}) {
        EXPECT_NE(message_for(text).find("64 levels"), std::string::npos);
    }
}

TEST(ParseJson, RefusesAnObjectWithTheSameKeyTwice) {
    for (const std::string_view text :
         {R"({"a":1,"a":1})", R"({"a":1,"b":2,"a":3})", R"([{"x":{"a":1,"a":2}}])",
          R"({"":1,"":2})", R"({"a":{"b":1},"a":{"b":2}})"}) {
        EXPECT_NE(message_for(text).find("same key twice"), std::string::npos) << text;
    }
}

TEST(ParseJson, SeesThroughEscapesInKeys) {
    for (const std::string_view text :
         {R"({"a":1,"\u0061":2})", R"({"code":1,"co\u0064e":2})", R"({"\u00e9":1,"é":2})",
          R"({"a\/b":1,"a/b":2})", R"({"\ud83d\udd14":1,"🔔":2})"}) {
        EXPECT_NE(message_for(text).find("same key twice"), std::string::npos) << text;
    }
    const json::value value = parse_json(R"({"co\u0064e":1,"x\ty":2})").value();
    EXPECT_EQ(value.at("code").as_int64(), 1);
    EXPECT_EQ(value.at("x\ty").as_int64(), 2);
}

// However many keys there are, and wherever the second one stands.
TEST(ParseJson, SeesEveryKeyOfALargeObject) {
    const auto object_with = [](int repeated, std::string_view inner) {
        std::string text = "{";
        for (int key = 0; key < 40; ++key) {
            text += fmt::format("\"key{}\":{},", key, inner);
        }
        return text + fmt::format("\"key{}\":0}}", repeated);
    };
    for (const std::string_view inner : {"1", R"({"key40":{"key40":1},"key0":2})"}) {
        for (const int repeated : {0, 1, 15, 16, 17, 39}) {
            EXPECT_NE(message_for(object_with(repeated, inner)).find("same key twice"),
                      std::string::npos);
        }
        EXPECT_TRUE(parse_json(object_with(40, inner)));
        EXPECT_TRUE(parse_json(object_with(3999, inner)));
    }
}

TEST(ParseJson, AllowsTheSameKeyInDifferentObjects) {
    EXPECT_TRUE(parse_json(R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]})"));
    EXPECT_TRUE(parse_json(R"({"a":1,"A":2,"a ":3})"));
}

TEST(ParseJson, RefusesInvalidUtf8) {
    for (const std::string_view text :
         {"\"\xFF\"", "\"\xC3\"", "\"\xC0\x80\"", "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\"",
          "{\"\xFF\":1}", "\xEF\xBB\xBF{}", "\xFF\xFE"}) {
        message_for(text);
    }
}

TEST(ParseJson, RefusesLoneSurrogatesAndAcceptsPairs) {
    message_for(R"("\ud800")");
    message_for(R"("\udc00")");
    message_for(R"("\ud800\u0041")");
    EXPECT_EQ(parse_json(R"("\ud83d\udd14")")->as_string(), "\xF0\x9F\x94\x94");
}

TEST(ParseJson, RefusesTextAfterTheEnd) {
    for (const std::string_view text : {"{} {}", "1 2", "[]]", "{}x", "null,", "\"a\"\"b\""}) {
        EXPECT_NE(message_for(text).find("not valid JSON"), std::string::npos) << text;
    }
    EXPECT_FALSE(parse_json(std::string_view("{}\0", 3)));
    EXPECT_TRUE(parse_json("{} \r\n\t "));
}

TEST(ParseJson, RefusesWhatIsNotStrictJson) {
    for (const std::string_view text :
         {"",          " ",       "{",         "[",    "[1,]",     "{\"a\":1,}", "{'a':1}",
          "{a:1}",     "// x\n1", "/* x */ 1", "NaN",  "Infinity", "-Infinity",  "01",
          "+1",        ".5",      "1.",        "1e",   "- 1",      "\"\t\"",     "\"\n\"",
          "\"\\x41\"", "\"abc",   "nul",       "True", "{\"a\"}",  "{\"a\":}",   "{1:2}"}) {
        message_for(text);
    }
}

TEST(ParseJson, SaysWhereTheMistakeIs) {
    EXPECT_NE(message_for("[1,x]").find("at byte 3"), std::string::npos);
}

TEST(ParseJson, KeepsIntegersOf64BitsExact) {
    EXPECT_EQ(parse_json("9223372036854775807")->as_int64(), INT64_MAX);
    EXPECT_EQ(parse_json("-9223372036854775808")->as_int64(), INT64_MIN);
    EXPECT_EQ(parse_json("18446744073709551615")->as_uint64(), UINT64_MAX);
    EXPECT_TRUE(parse_json("18446744073709551616")->is_double());
    EXPECT_TRUE(parse_json("-9223372036854775809")->is_double());
}

TEST(ParseJson, NumbersBeyondADoubleNeverBecomeInvalidJson) {
    for (const std::string& text :
         {std::string("1e400"), std::string("-1e400"), "1e" + std::string(400, '9'),
          std::string(400, '9'), "-" + std::string(10'000, '9'), std::string("1e-400")}) {
        if (const Result<json::value> value = parse_json(text)) {
            EXPECT_TRUE(parse_json(to_text(*value))) << to_text(*value);
        }
    }
}

TEST(ParseJson, ReadsTheNearestDouble) {
    EXPECT_EQ(parse_json("110.00000000000001")->as_double(), 100 * 1.1);
    EXPECT_EQ(parse_json("[0.30000000000000004]")->at(0).as_double(), 0.1 + 0.2);
    EXPECT_EQ(parse_json("1.7976931348623157e308")->as_double(),
              std::numeric_limits<double>::max());
    EXPECT_EQ(parse_json("5e-324")->as_double(), std::numeric_limits<double>::denorm_min());
    EXPECT_EQ(parse_json("1" + std::string(400, '0') + "e-400")->as_double(), 1.0);
    EXPECT_EQ(parse_json("0e400")->as_double(), 0.0);
    for (const std::string_view text : {"1e-400", "-1e-400", "0.0", "-0.0"}) {
        const json::value value = parse_json(text).value();
        EXPECT_EQ(value.as_double(), 0.0) << text;
        EXPECT_EQ(std::signbit(value.as_double()), text.starts_with('-')) << text;
    }
    for (const std::string_view text : {"1e309", "-1e309", "1.8e308", "1e400"}) {
        EXPECT_NE(message_for(text).find("too large"), std::string::npos) << text;
    }
}

TEST(ToText, EveryDoubleComesBackAsItWas) {
    const auto seed = std::random_device()();
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 random(seed);
    for (int count = 0; count < 10'000; ++count) {
        const auto number = std::bit_cast<double>(random());
        if (!std::isfinite(number)) {
            continue;
        }
        // As others write it, and as it is written here.
        EXPECT_EQ(parse_json(fmt::format("{:.17g}", number))->to_number<double>(), number);
        EXPECT_EQ(parse_json(fmt::format("{}", number))->to_number<double>(), number);
        EXPECT_EQ(parse_json(to_text(number))->to_number<double>(), number);
    }
}

TEST(ParseJson, LongKeysAndStringsComeThroughWhole) {
    const std::string key(5000, 'k');
    const std::string text(3 << 20U, 't');
    const json::value value = parse_json("{\"" + key + "\":\"" + text + "\"}").value();
    EXPECT_EQ(value.at(key).as_string().size(), text.size());
    EXPECT_FALSE(parse_json("{\"" + std::string(100'000, 'k') + "\":1}"));
}

TEST(ToText, IsOneLine) {
    const json::value value{{"text", "a\nb\r\n\t\x01"}, {"list", {1, nullptr, true}}};
    const std::string text = to_text(value);
    EXPECT_EQ(text.find_first_of("\r\n"), std::string::npos);
    EXPECT_EQ(parse_json(text).value(), value);
}

TEST(DescribeKind, NamesEveryKind) {
    EXPECT_EQ(describe_kind(nullptr), "null");
    EXPECT_EQ(describe_kind(true), "a boolean");
    EXPECT_EQ(describe_kind(-1), "an integer");
    EXPECT_EQ(describe_kind(UINT64_MAX), "an integer");
    EXPECT_EQ(describe_kind(0.5), "a number");
    EXPECT_EQ(describe_kind("x"), "a string");
    EXPECT_EQ(describe_kind(json::array{}), "an array");
    EXPECT_EQ(describe_kind(json::object{}), "an object");
}

}  // namespace
}  // namespace belljar
