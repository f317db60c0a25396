#include "mcp/output_content.h"

#include <gtest/gtest.h>

namespace belljar::mcp {
namespace {

using execution::OutputForm;
using execution::RunResult;

const RunResult kResult{
    .result_repr = "   a\n0  1",
    .outputs = {{.bundle = {{"image/png", "\x89PNG"},
                            {"image/svg+xml", "<svg/>"},
                            {"text/plain", "<Figure>"}}},
                {.bundle = {{"text/html", "<b>x</b>"}, {"text/markdown", "**x**"}}},
                {.bundle = {{"text/html", "<table/>"}, {"text/plain", "   a\n0  1"}}},
                {.bundle = {{"application/pdf", "%PDF"}}}}};

TEST(OutputContent, ShowsEachOutputOnceInItsBestForm) {
    const std::vector<Content> content = content_of(kResult, OutputForm::Compact);
    ASSERT_EQ(content.size(), 2U);
    EXPECT_EQ(std::get<Picture>(content[0]).mime, "image/png");
    EXPECT_EQ(std::get<Picture>(content[0]).data, "\x89PNG");
    EXPECT_EQ(std::get<std::string>(content[1]), "**x**");
}

TEST(OutputContent, InFullShowsEveryFormThatIsAPictureOrText) {
    const std::vector<Content> content = content_of(kResult, OutputForm::Full);
    ASSERT_EQ(content.size(), 7U);
    EXPECT_EQ(std::get<Picture>(content[0]).mime, "image/png");
    EXPECT_EQ(std::get<std::string>(content[1]), "<svg/>");
    EXPECT_EQ(std::get<std::string>(content[2]), "<Figure>");
}

TEST(OutputContent, NothingShownIsNothingMore) {
    EXPECT_TRUE(content_of({}, OutputForm::Compact).empty());
}

}  // namespace
}  // namespace belljar::mcp
