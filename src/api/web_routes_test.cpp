#include "api/web_routes.h"

#include <gtest/gtest.h>

#include "api/web_assets.h"

namespace belljar::api {
namespace {

using access::HttpRequest;
using access::HttpResponse;

std::string header_of(const HttpResponse& response, std::string_view name) {
    for (const auto& [known, value] : response.headers) {
        if (known == name) {
            return value;
        }
    }
    return "";
}

TEST(WebRoutes, CodingsAreTakenByNameUnlessTheirQualityIsZero) {
    for (const char* header : {"br", "gzip, br", "gzip;q=0.5 , BR", "br;q=0.1", "br;q=1.0"}) {
        EXPECT_TRUE(accepts_coding(header, "br")) << header;
    }
    for (const char* header : {"", "gzip", "brotli", "br;q=0", "br; q=0.000", "*", ",,;,"}) {
        EXPECT_FALSE(accepts_coding(header, "br")) << header;
    }
}

TEST(WebRoutes, OnlyThoseWhoWantHtmlGetThePage) {
    EXPECT_TRUE(wants_page({.headers = {{"Accept", "text/html,application/xhtml+xml,*/*;q=0.8"}}}));
    for (const char* accept : {"*/*", "application/json", ""}) {
        EXPECT_FALSE(wants_page({.headers = {{"Accept", accept}}})) << accept;
    }
    EXPECT_FALSE(wants_page({}));
}

TEST(WebRoutes, ThePageHasAStrictPolicyAndIsAskedForAgain) {
    const HttpResponse page = web_page({.headers = {{"Accept-Encoding", "gzip"}}});
    EXPECT_EQ(page.status, 200U);
    EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
    EXPECT_EQ(header_of(page, "Content-Encoding"), "gzip");
    EXPECT_EQ(header_of(page, "Cache-Control"), "no-cache");
    const std::string policy = header_of(page, "Content-Security-Policy");
    EXPECT_TRUE(
        policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self' 'sha256-"));
    EXPECT_EQ(policy.find("unsafe"), std::string::npos);
    const std::string tag = header_of(page, "ETag");
    const HttpResponse again =
        web_page({.headers = {{"Accept-Encoding", "gzip"}, {"If-None-Match", tag}}});
    EXPECT_EQ(again.status, 304U);
    EXPECT_TRUE(again.body.empty());
    // Another coding is another representation.
    EXPECT_EQ(web_page({.headers = {{"If-None-Match", tag}}}).status, 200U);
}

TEST(WebRoutes, WhoTakesNothingCompressedGetsThePlainPage) {
    const HttpResponse page = web_page({});
    EXPECT_EQ(header_of(page, "Content-Encoding"), "");
    EXPECT_TRUE(page.body.starts_with("<!doctype html>")) << page.body.substr(0, 100);
    EXPECT_EQ(page.body.find("<style"), std::string::npos);
    EXPECT_EQ(page.body.find("<script>"), std::string::npos);
}

TEST(WebRoutes, EveryFileHasBothForms) {
    ASSERT_GT(web_assets().size(), 3U);
    for (const WebAsset& asset : web_assets()) {
        EXPECT_FALSE(asset.brotli.empty()) << asset.name;
        EXPECT_TRUE(asset.gzip.starts_with("\x1f\x8b")) << asset.name;
    }
}

}  // namespace
}  // namespace belljar::api
