#include "mcp/output_content.h"

#include <gtest/gtest.h>

namespace belljar::mcp {
namespace {

using execution::OutputForm;
using execution::RunResult;

const RunResult kResult{
    .execution_id = "run-1",
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
    EXPECT_EQ(std::get<EmbeddedResource>(content[1]).mime, "image/svg+xml");
    EXPECT_EQ(std::get<EmbeddedResource>(content[1]).data, "<svg/>");
    EXPECT_EQ(std::get<EmbeddedResource>(content[1]).uri, "belljar://runs/run-1/outputs/0");
    EXPECT_EQ(std::get<std::string>(content[2]), "<Figure>");
}

TEST(OutputContent, PointsToStreamsThatWereKeptAndToFiles) {
    RunResult result{
        .execution_id = "run-1",
        .stdout_stream = {.text = "a...z", .truncated = true, .bytes = 9000},
        .files = {{.name = "a.csv", .size = 3, .mime = "text/csv", .sha256 = "1", .uri = "f:a"},
                  {.name = "gone", .uri = "f:gone"},
                  {.name = "b", .size = 4, .sha256 = "2"}}};
    std::vector<Content> content = content_of(result, OutputForm::Compact);
    ASSERT_EQ(content.size(), 1U);
    EXPECT_EQ(std::get<ResourceLink>(content[0]).uri, "f:a");
    result.full_output = "somewhere";
    content = content_of(result, OutputForm::Compact);
    ASSERT_EQ(content.size(), 2U);
    EXPECT_EQ(std::get<ResourceLink>(content[0]).uri, "belljar://runs/run-1/stdout");
    EXPECT_EQ(std::get<ResourceLink>(content[0]).size, 9000U);
}

TEST(OutputContent, NothingShownIsNothingMore) {
    EXPECT_TRUE(content_of({}, OutputForm::Compact).empty());
}

}  // namespace
}  // namespace belljar::mcp
