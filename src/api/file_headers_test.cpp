#include "api/file_headers.h"

#include <gtest/gtest.h>

namespace belljar::api {
namespace {

using access::HttpRequest;
using execution::FileCondition;
using execution::FileView;
using execution::WallTime;
using Kind = FileCondition::Kind;

const WallTime kThen{std::chrono::seconds(1'772'532'672)};
const FileView kFile{.path = "a.txt", .modified = kThen, .revision = "r1"};

HttpRequest with(std::initializer_list<std::pair<const char*, const char*>> headers) {
    HttpRequest request;
    for (const auto& [name, value] : headers) {
        request.headers.emplace(name, value);
    }
    return request;
}

TEST(HttpDate, IsWrittenAndReadBack) {
    EXPECT_EQ(http_date(kThen), "Tue, 03 Mar 2026 10:11:12 GMT");
    EXPECT_EQ(parse_http_date("Tue, 03 Mar 2026 10:11:12 GMT"), kThen);
    for (const char* bad : {"", "yesterday", "Tue, 03 Mar 2026 10:11:12 GMT+1", "\"r1\""}) {
        EXPECT_EQ(parse_http_date(bad), std::nullopt) << bad;
    }
}

TEST(Tags, AreReadStrictly) {
    EXPECT_TRUE(parse_tags("*").value().any);
    const TagList list = parse_tags("\"a\" , W/\"b\",\"\"").value();
    EXPECT_TRUE(list.has("a"));
    EXPECT_FALSE(list.has("b"));
    EXPECT_TRUE(list.has_weakly("b"));
    EXPECT_TRUE(list.has(""));
    for (const char* bad : {"", "a", "\"a", "\"a\" \"b\"", "\"a\",", ",", "W/a", "*, \"a\""}) {
        EXPECT_FALSE(parse_tags(bad)) << bad;
    }
    std::string many = "\"a\"";
    for (int index = 0; index < 100; ++index) {
        many += ",\"a\"";
    }
    EXPECT_FALSE(parse_tags(many));
}

TEST(Freshness, FollowsTheTagsAndTimes) {
    const auto judge = [](const HttpRequest& request) {
        return judge_freshness(request, kFile).value();
    };
    const char* earlier = "Tue, 03 Mar 2026 10:11:11 GMT";
    const char* then = "Tue, 03 Mar 2026 10:11:12 GMT";
    EXPECT_EQ(judge(with({})), Freshness::Send);
    EXPECT_EQ(judge(with({{"If-None-Match", "\"r1\""}})), Freshness::NotModified);
    EXPECT_EQ(judge(with({{"If-None-Match", "W/\"r1\""}})), Freshness::NotModified);
    EXPECT_EQ(judge(with({{"If-None-Match", "*"}})), Freshness::NotModified);
    EXPECT_EQ(judge(with({{"If-None-Match", "\"r2\""}})), Freshness::Send);
    EXPECT_EQ(judge(with({{"If-Match", "\"r1\""}})), Freshness::Send);
    EXPECT_EQ(judge(with({{"If-Match", "W/\"r1\""}})), Freshness::Failed);
    EXPECT_EQ(judge(with({{"If-Match", "\"r2\""}})), Freshness::Failed);
    EXPECT_EQ(judge(with({{"If-Modified-Since", then}})), Freshness::NotModified);
    EXPECT_EQ(judge(with({{"If-Modified-Since", earlier}})), Freshness::Send);
    EXPECT_EQ(judge(with({{"If-Modified-Since", then}, {"If-None-Match", "\"r2\""}})),
              Freshness::Send);
    EXPECT_EQ(judge(with({{"If-Unmodified-Since", earlier}})), Freshness::Failed);
    EXPECT_EQ(judge(with({{"If-Unmodified-Since", then}})), Freshness::Send);
    EXPECT_FALSE(judge_freshness(with({{"If-Match", "r1"}}), kFile));
}

TEST(Range, IsLeftOutIfTheFileIsAnotherOne) {
    const auto range = [](const char* condition) {
        return range_for(with({{"Range", "bytes=1-"}, {"If-Range", condition}}), kFile);
    };
    EXPECT_EQ(range_for(with({{"Range", "bytes=1-"}}), kFile), "bytes=1-");
    EXPECT_EQ(range("\"r1\""), "bytes=1-");
    EXPECT_EQ(range("Tue, 03 Mar 2026 10:11:12 GMT"), "bytes=1-");
    EXPECT_EQ(range("\"r2\""), "");
    EXPECT_EQ(range("W/\"r1\""), "");
    EXPECT_EQ(range("Tue, 03 Mar 2026 10:11:13 GMT"), "");
}

TEST(WriteCondition, SaysWhatHasToHold) {
    const auto condition = [](const HttpRequest& request, const std::optional<FileView>& file) {
        return condition_of(read_write_headers(request).value(), file);
    };
    EXPECT_EQ(condition(with({}), kFile).value(), FileCondition{});
    EXPECT_EQ(condition(with({{"If-None-Match", "*"}}), {}).value().kind, Kind::Absent);
    EXPECT_EQ(condition(with({{"If-Match", "*"}}), {}).value().kind, Kind::Present);
    const FileCondition matches{.kind = Kind::Matches, .tag = "r1"};
    EXPECT_EQ(condition(with({{"If-Match", "\"r1\""}}), {}).value(), matches);
    EXPECT_EQ(condition(with({{"If-Match", "\"r0\", \"r1\""}}), kFile).value(), matches);
    EXPECT_EQ(condition(with({{"If-None-Match", "\"r0\""}}), kFile).value(), matches);
    EXPECT_EQ(condition(with({{"If-None-Match", "\"r0\""}}), {}).value().kind, Kind::Absent);
    for (const char* header : {"If-Match", "If-None-Match"}) {
        const char* wrong = std::string_view(header) == "If-Match" ? "W/\"r1\"" : "\"r1\"";
        EXPECT_EQ(condition(with({{header, wrong}}), kFile).error().code, ErrorCode::Precondition);
    }
    EXPECT_FALSE(read_write_headers(with({{"If-Match", "*"}, {"If-None-Match", "*"}})));
    EXPECT_FALSE(read_write_headers(with({{"If-Match", "x"}})));
}

TEST(ContentDisposition, NamesEveryFileSafely) {
    const auto named = [](std::string_view path) {
        return content_disposition(Presentation::Attachment, path);
    };
    EXPECT_EQ(named("d/a b.txt"), "attachment; filename=\"a b.txt\"");
    EXPECT_EQ(named("a\"b\\c%"), "attachment; filename=\"a_b_c_\"; filename*=UTF-8''a%22b%5Cc%25");
    EXPECT_EQ(named("größe\r\n"),
              "attachment; filename=\"gr____e__\"; filename*=UTF-8''gr%C3%B6%C3%9Fe%0D%0A");
}

TEST(Presentation, IsInlineOnlyForWhatRunsNothing) {
    for (const char* mime : {"text/plain", "image/png", "video/mp4", "application/json"}) {
        EXPECT_EQ(presentation_of(mime), Presentation::Inline) << mime;
    }
    for (const char* mime : {"text/html", "image/svg+xml", "application/xml", "text/javascript",
                             "application/pdf", "application/octet-stream", "text/css"}) {
        EXPECT_EQ(presentation_of(mime), Presentation::Attachment) << mime;
    }
    EXPECT_EQ(content_type_of("text/html"), "text/html; charset=utf-8");
    EXPECT_EQ(content_type_of("image/png"), "image/png");
}

}  // namespace
}  // namespace belljar::api
