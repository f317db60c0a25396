#include "mcp/skill_methods.h"

#include "crypto/digest.h"
#include "mcp/testing/method_test.h"

namespace belljar::mcp {
namespace {

using SkillMethodsTest = MethodTest;

TEST_F(SkillMethodsTest, ListsSkillsWhoseFilesCanBeRead) {
    const json::value listed = ask("skills/list");
    const json::value& skill = listed.at_pointer("/result/skills/0");
    EXPECT_EQ(skill.at("uri"), json::value("skill://protocol-fixture/SKILL.md"));
    for (const json::value& file : skill.at("resources").as_array()) {
        const json::value read = ask("resources/read", {{"uri", file.at("uri")}});
        const json::string& text = read.at_pointer("/result/contents/0/text").as_string();
        EXPECT_EQ(file.at("size").to_number<std::size_t>(), text.size());
        EXPECT_EQ(std::string(file.at("digest").as_string()), "sha256:" + crypto::sha256_hex(text));
    }
}

TEST_F(SkillMethodsTest, GetsOneByItsAddress) {
    const json::value listed = ask("skills/list");
    const json::value got = ask("skills/get", {{"uri", "skill://protocol-fixture/SKILL.md"}});
    EXPECT_EQ(got.at_pointer("/result/skill"), listed.at_pointer("/result/skills/0"));
    EXPECT_EQ(error_of(ask("skills/get", {{"uri", "skill://nothing/SKILL.md"}})), -32602);
    EXPECT_EQ(error_of(ask("skills/get")), -32602);
}

TEST_F(SkillMethodsTest, ReadsDirectories) {
    const json::value root = ask("resources/directory/read", {{"uri", "skill://protocol-fixture"}});
    EXPECT_EQ(root.at_pointer("/result/resources/0/name"), json::value("SKILL.md"));
    EXPECT_EQ(root.at_pointer("/result/resources/1/mimeType"), json::value("inode/directory"));
    const json::value inner =
        ask("resources/directory/read", {{"uri", root.at_pointer("/result/resources/1/uri")}});
    EXPECT_EQ(inner.at_pointer("/result/resources/0/name"), json::value("notes.md"));
    for (const char* uri : {"skill://protocol-fixture/SKILL.md", "skill://protocol", "", "/"}) {
        EXPECT_EQ(error_of(ask("resources/directory/read", {{"uri", uri}})), -32602) << uri;
    }
}

TEST_F(SkillMethodsTest, LegacyClientsHaveNone) {
    EXPECT_EQ(error_of(ask_legacy("skills/list")), -32601);
}

}  // namespace
}  // namespace belljar::mcp
