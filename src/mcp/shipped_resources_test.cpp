#include "mcp/shipped_resources.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "crypto/digest.h"
#include "mcp/testing/run_task.h"

namespace belljar::mcp {
namespace {

std::string read(ShippedResources& provider, const std::string& uri) {
    const auto round = run_task(provider.read_resource({.uri = uri}, nullptr));
    return round ? std::get<ResourceContents>(*round).parts.front().bytes : "(nothing)";
}

TEST(ShippedSkills, HaveFrontmatterAndDigestsThatHold) {
    ShippedResources provider;
    const std::vector<Skill> skills = provider.skills();
    ASSERT_FALSE(skills.empty());
    for (const Skill& skill : skills) {
        EXPECT_TRUE(skill.uri.starts_with("skill://") && skill.uri.ends_with("/SKILL.md"));
        EXPECT_EQ("skill://" + std::string(skill.frontmatter.at("name").as_string()) + "/SKILL.md",
                  skill.uri);
        EXPECT_GT(skill.frontmatter.at("description").as_string().size(), 40U);
        EXPECT_GE(skill.resources.size(), 2U);
        for (const json::value& resource : skill.resources) {
            const std::string content = read(provider, std::string(resource.at("uri").as_string()));
            EXPECT_EQ(resource.at("digest"), json::value("sha256:" + crypto::sha256_hex(content)));
            EXPECT_EQ(resource.at("size").to_number<std::size_t>(), content.size());
        }
    }
}

TEST(ShippedSkills, AreListedAsTheirFrontmatterSays) {
    ShippedResources provider;
    const std::vector<ResourceDefinition> listed = run_task(provider.resources({}));
    for (const Skill& skill : provider.skills()) {
        const auto found = std::ranges::find_if(
            listed, [&](const ResourceDefinition& entry) { return entry.uri == skill.uri; });
        ASSERT_NE(found, listed.end());
        EXPECT_EQ(json::value(found->name), skill.frontmatter.at("name"));
        EXPECT_EQ(json::value(found->description), skill.frontmatter.at("description"));
    }
}

TEST(ShippedSkills, FrontmatterIsReadLineByLine) {
    EXPECT_EQ(parse_frontmatter("---\nname: a\ndescription: b: c\n---\nx: y\n"),
              (json::object{{"name", "a"}, {"description", "b: c"}}));
    EXPECT_TRUE(parse_frontmatter("name: a\n").empty());
    EXPECT_TRUE(parse_frontmatter("").empty());
    EXPECT_EQ(parse_frontmatter("---\nname: a"), (json::object{{"name", "a"}}));
}

TEST(RunView, IsAnHtmlDocumentThatMayReachNothing) {
    ShippedResources provider;
    ASSERT_TRUE(provider.owns_resource(kRunView));
    const auto round = run_task(provider.read_resource({.uri = std::string(kRunView)}, nullptr));
    const ResourcePart& part = std::get<ResourceContents>(*round).parts.front();
    EXPECT_EQ(part.mime, "text/html;profile=mcp-app");
    EXPECT_EQ(part.form, ResourcePart::Form::Text);
    EXPECT_TRUE(part.bytes.starts_with("<!doctype html>"));
    for (const char* word : {"innerHTML", "eval(", "http://", "https://", "<iframe", "import("}) {
        const std::string code = part.bytes.substr(part.bytes.find("const MOST_ROWS"));
        EXPECT_EQ(code.find(word), std::string::npos) << word;
    }
    for (const char* list : {"connectDomains", "resourceDomains", "frameDomains"}) {
        EXPECT_TRUE(part.meta.at("ui").at("csp").at(list).as_array().empty()) << list;
    }
    EXPECT_EQ(part.meta.at("ui").at("prefersBorder"), json::value(true));
    EXPECT_EQ(run_view_meta().at("resourceUri"), json::value(kRunView));
}

TEST(ShippedResources, ListsWhatItHas) {
    ShippedResources provider;
    for (const ResourceDefinition& resource : run_task(provider.resources({}))) {
        EXPECT_EQ(read(provider, resource.uri).size(), resource.size) << resource.uri;
        EXPECT_FALSE(resource.title.empty() || resource.mime.empty());
    }
    EXPECT_FALSE(provider.owns_resource("skill://using-belljar/other.md"));
    EXPECT_EQ(read(provider, "ui://belljar/other"), "(nothing)");
}

}  // namespace
}  // namespace belljar::mcp
