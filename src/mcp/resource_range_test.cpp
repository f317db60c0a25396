#include "mcp/resource_range.h"

#include <gtest/gtest.h>

namespace belljar::mcp {
namespace {

TEST(RangedUri, IsTheWholeUnlessItAsks) {
    const RangedUri ranged = parse_ranged_uri("belljar://a").value();
    EXPECT_EQ(ranged.uri, "belljar://a");
    EXPECT_EQ(ranged.offset, 0U);
    EXPECT_EQ(ranged.length, kMostPerRead);
}

TEST(RangedUri, AsksForAPart) {
    const RangedUri ranged = parse_ranged_uri("belljar://a?length=7&offset=5").value();
    EXPECT_EQ(ranged.uri, "belljar://a");
    EXPECT_EQ(ranged.offset, 5U);
    EXPECT_EQ(ranged.length, 7U);
    EXPECT_EQ(parse_ranged_uri("u:?offset=5").value().length, kMostPerRead);
    EXPECT_EQ(parse_ranged_uri("u:?length=999999999").value().length, kMostPerRead);
    EXPECT_EQ(parse_ranged_uri("u:?").value().offset, 0U);
}

TEST(RangedUri, OtherQuestionsAreRefused) {
    for (const char* uri : {"u:?offset", "u:?offset=", "u:?offset=-1", "u:?offset=1x",
                            "u:?length=0", "u:?page=1", "u:?offset=99999999999999999999",
                            "u:?offset= 1", "u:?offset=1&&length=1", "u:?offset=0x1"}) {
        const auto ranged = parse_ranged_uri(uri);
        ASSERT_FALSE(ranged) << uri;
        EXPECT_EQ(ranged.error().code, RpcCode::InvalidParams);
    }
}

json::value range_of(const ResourceContents& contents) {
    return contents.parts.front().meta.at("belljar/range");
}

TEST(ResourceContents, TextIsTextAndTellsItsPlace) {
    const auto contents =
        make_contents({.uri = "u:"}, {.mime = "text/plain", .total = 5, .bytes = "h\xC3\xA9y\n"});
    ASSERT_TRUE(contents);
    const ResourcePart& part = contents->parts.front();
    EXPECT_EQ(part.form, ResourcePart::Form::Text);
    EXPECT_EQ(part.bytes, "h\xC3\xA9y\n");
    EXPECT_EQ(range_of(*contents),
              json::value(json::object{{"offset", 0}, {"bytes", 5}, {"total", 5}}));
}

TEST(ResourceContents, WhatIsNoTextIsABlob) {
    const auto broken =
        make_contents({.uri = "u:"}, {.mime = "text/plain", .total = 3, .bytes = "a\xFFz"});
    EXPECT_EQ(broken->parts.front().form, ResourcePart::Form::Blob);
    const auto picture =
        make_contents({.uri = "u:"}, {.mime = "image/png", .total = 3, .bytes = "abc"});
    EXPECT_EQ(picture->parts.front().form, ResourcePart::Form::Blob);
    EXPECT_EQ(picture->parts.front().bytes, "abc");
}

TEST(ResourceContents, ACutCharacterIsLeftToTheNextPart) {
    const std::string text = "a\xE2\x82\xAC!";  // five bytes, the middle three are one character
    const RangedUri first{.uri = "u:", .length = 3};
    const auto begun = make_contents(
        first, {.mime = "text/plain", .total = text.size(), .bytes = text.substr(0, 3)});
    EXPECT_EQ(begun->parts.front().bytes, "a");
    EXPECT_EQ(range_of(*begun).at("next"), json::value("u:?offset=1&length=3"));
    const RangedUri middle{.uri = "u:", .offset = 2};
    const auto rest = make_contents(
        middle, {.mime = "text/plain", .total = text.size(), .bytes = text.substr(2)});
    EXPECT_EQ(rest->parts.front().bytes, "!");
    EXPECT_EQ(range_of(*rest),
              json::value(json::object{{"offset", 4}, {"bytes", 1}, {"total", 5}}));
}

TEST(ResourceContents, PartsReadOneAfterTheOtherAreTheWhole) {
    std::string text;
    for (int number = 0; number < 50; ++number) {
        text += number % 3 == 0 ? "x" : "\xF0\x9F\x90\x8D";
    }
    for (std::uint64_t length = 4; length < 12; ++length) {
        std::string joined;
        std::string uri = "u:?length=" + std::to_string(length);
        while (!uri.empty()) {
            const RangedUri asked = parse_ranged_uri(uri).value();
            const auto contents =
                make_contents(asked, {.mime = "text/plain",
                                      .total = text.size(),
                                      .bytes = text.substr(asked.offset, asked.length)});
            ASSERT_EQ(contents->parts.front().form, ResourcePart::Form::Text);
            joined += contents->parts.front().bytes;
            const json::object range = range_of(*contents).as_object();
            uri = range.contains("next") ? std::string(range.at("next").as_string()) : "";
        }
        EXPECT_EQ(joined, text) << length;
    }
}

TEST(ResourceContents, NothingLiesBehindTheEnd) {
    EXPECT_FALSE(make_contents({.uri = "u:", .offset = 3}, {.mime = "text/plain", .total = 3}));
    EXPECT_FALSE(make_contents({.uri = "u:", .offset = 1}, {.mime = "text/plain", .total = 0}));
    EXPECT_TRUE(make_contents({.uri = "u:"}, {.mime = "text/plain", .total = 0}));
}

TEST(TextType, IsToldByItsName) {
    for (const char* mime : {"text/csv", "text/html; charset=utf-8", "application/json",
                             "application/geo+json", "image/svg+xml"}) {
        EXPECT_TRUE(is_text_type(mime)) << mime;
    }
    for (const char* mime : {"", "image/png", "application/octet-stream", "application/zip"}) {
        EXPECT_FALSE(is_text_type(mime)) << mime;
    }
}

}  // namespace
}  // namespace belljar::mcp
