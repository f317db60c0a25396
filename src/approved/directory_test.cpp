#include "approved/directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "crypto/digest.h"
#include "jar/tool_tree.h"

namespace belljar::approved {
namespace {

namespace fs = std::filesystem;

class ToolDirectory : public testing::Test {
   protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "approved-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        place = name;
        fs::create_directory(place / "tools");
        source.path = (place / "tools").string();
    }
    void TearDown() override { fs::remove_all(place); }

    void write(const std::string& file, const std::string& content) const {
        fs::create_directories((fs::path(source.path) / file).parent_path());
        std::ofstream(fs::path(source.path) / file) << content;
    }
    void approve(const std::vector<std::string>& files) const {
        std::vector<Approval> approvals;
        for (const std::string& file : files) {
            std::ifstream stream(fs::path(source.path) / file);
            const std::string content(std::istreambuf_iterator<char>(stream), {});
            approvals.push_back({.file = file,
                                 .sha256 = crypto::sha256_hex(content),
                                 .owner = "o",
                                 .version = "1"});
        }
        write("manifest.toml", write_manifest(approvals));
    }
    [[nodiscard]] Collection read() const { return read_collection(source).value(); }
    // "changed log_store.py", sorted.
    [[nodiscard]] std::vector<std::string> refused() const {
        std::vector<std::string> told;
        for (const Refusal& refusal : read().refusals) {
            told.push_back(refusal.reason + " " + refusal.file);
        }
        std::ranges::sort(told);
        return told;
    }
    [[nodiscard]] std::vector<std::string> served() const {
        std::vector<std::string> files;
        for (const Module& module : read().modules) {
            files.push_back(module.approval.file);
        }
        std::ranges::sort(files);
        return files;
    }

    fs::path place;
    Source source;
};

using Names = std::vector<std::string>;

TEST_F(ToolDirectory, ServesWhatIsApproved) {
    write("a.py", "A = 1\n");
    write("deep/part.py", "B = 2\n");
    write("README.md", "not a module");
    approve({"a.py", "deep/part.py"});
    EXPECT_EQ(served(), (Names{"a.py", "deep/part.py"}));
    EXPECT_EQ(refused(), Names{});
    EXPECT_EQ(read().modules.front().content, "A = 1\n");
}

TEST_F(ToolDirectory, RefusesWhatIsUnlistedOrChangedOrMissing) {
    write("a.py", "A = 1\n");
    write("b.py", "B = 1\n");
    write("gone.py", "");
    approve({"a.py", "b.py", "gone.py"});
    write("b.py", "B = 2\n");
    write("c.py", "C = 1\n");
    fs::remove(fs::path(source.path) / "gone.py");
    EXPECT_EQ(served(), Names{"a.py"});
    EXPECT_EQ(refused(), (Names{"changed b.py", "missing gone.py", "unlisted c.py"}));
    source.unlisted = config::Unlisted::Serve;
    EXPECT_EQ(served(), (Names{"a.py", "b.py", "c.py"}));
    EXPECT_EQ(refused(), Names{"missing gone.py"});
}

TEST_F(ToolDirectory, WithoutAManifestNothingIsServed) {
    write("a.py", "A = 1\n");
    EXPECT_EQ(served(), Names{});
    EXPECT_EQ(refused(), Names{"unlisted a.py"});
}

TEST_F(ToolDirectory, AWrongManifestIsAnError) {
    write("a.py", "A = 1\n");
    write("manifest.toml", "[[module]]\nfile = \"../../etc/passwd\"\n");
    EXPECT_FALSE(read_collection(source));
    write("manifest.toml", std::string(kLargestManifest.count + 1, '#'));
    EXPECT_FALSE(read_collection(source));
    source.manifest = (place / "nowhere.toml").string();
    EXPECT_FALSE(read_collection(source));
    source.path = (place / "nowhere").string();
    EXPECT_FALSE(read_collection(source));
}

TEST_F(ToolDirectory, LinksStayInTheDirectory) {
    std::ofstream(place / "outside.py") << "SECRET = 1\n";
    write("real.py", "A = 1\n");
    fs::create_symlink("real.py", fs::path(source.path) / "alias.py");
    fs::create_symlink("../outside.py", fs::path(source.path) / "out.py");
    fs::create_symlink(place / "outside.py", fs::path(source.path) / "absolute.py");
    fs::create_symlink("loop.py", fs::path(source.path) / "loop.py");
    fs::create_directory_symlink("..", fs::path(source.path) / "up");
    approve({"real.py", "alias.py", "out.py", "absolute.py", "loop.py"});
    EXPECT_EQ(served(), (Names{"alias.py", "real.py"}));
    EXPECT_EQ(refused(), (Names{"link absolute.py", "link loop.py", "link out.py"}));
}

TEST_F(ToolDirectory, AConfigMapIsSwappedAsAWhole) {
    write("..2026_1/a.py", "A = 1\n");
    fs::create_directory_symlink("..2026_1", fs::path(source.path) / "..data");
    fs::create_symlink("..data/a.py", fs::path(source.path) / "a.py");
    approve({"a.py"});
    fs::rename(fs::path(source.path) / "manifest.toml",
               fs::path(source.path) / "..2026_1/manifest.toml");
    fs::create_symlink("..data/manifest.toml", fs::path(source.path) / "manifest.toml");
    EXPECT_EQ(served(), Names{"a.py"});
    EXPECT_EQ(refused(), Names{});
}

TEST_F(ToolDirectory, WhatIsNoModuleIsRefused) {
    write("large.py", std::string(kLargestModule.count + 1, '#'));
    ASSERT_EQ(::mkfifo((fs::path(source.path) / "pipe.py").c_str(), 0644), 0);
    fs::create_directory(fs::path(source.path) / "folder.py");
    write("tools.py", "");
    write("main.py", "");
    approve({});
    write(
        "manifest.toml",
        write_manifest(
            {{.file = "large.py", .sha256 = std::string(64, '0'), .owner = "o", .version = "1"},
             {.file = "pipe.py", .sha256 = std::string(64, '0'), .owner = "o", .version = "1"},
             {.file = "folder.py", .sha256 = std::string(64, '0'), .owner = "o", .version = "1"},
             {.file = "tools.py", .sha256 = crypto::sha256_hex(""), .owner = "o", .version = "1"},
             {.file = "main.py", .sha256 = crypto::sha256_hex(""), .owner = "o", .version = "1"}}));
    EXPECT_EQ(served(), Names{});
    EXPECT_EQ(refused(), (Names{"shadows main.py", "shadows tools.py", "special folder.py",
                                "special pipe.py", "too_large large.py"}));
}

TEST_F(ToolDirectory, AFileOfAHundredMegabytesIsNotRead) {
    write("sparse.py", "");
    fs::resize_file(fs::path(source.path) / "sparse.py", 100U << 20U);
    source.unlisted = config::Unlisted::Serve;
    EXPECT_EQ(refused(), Names{"too_large sparse.py"});
}

TEST_F(ToolDirectory, ADraftKeepsWhatIsKnown) {
    write("a.py", "A = 1\n");
    write("gone.py", "");
    approve({"a.py", "gone.py"});
    write("a.py", "A = 2\n");
    write("b.py", "B = 1\n");
    fs::remove(fs::path(source.path) / "gone.py");
    const std::vector<Approval> drafts = draft_manifest(source, "me").value();
    ASSERT_EQ(drafts.size(), 2U);
    EXPECT_EQ(drafts[0].owner, "o");
    EXPECT_EQ(drafts[0].sha256, crypto::sha256_hex("A = 2\n"));
    EXPECT_EQ(drafts[1].owner, "me");
    write("manifest.toml", write_manifest(drafts));
    EXPECT_EQ(served(), (Names{"a.py", "b.py"}));
}

TEST_F(ToolDirectory, TheDigestIsThatOfWhatIsServedAndRefused) {
    write("a.py", "A = 1\n");
    approve({"a.py"});
    const std::string first = read().digest;
    EXPECT_EQ(read().digest, first);
    write("b.py", "B = 1\n");
    const std::string second = read().digest;
    EXPECT_NE(second, first);
    approve({"a.py", "b.py"});
    EXPECT_NE(read().digest, second);
}

// --- packs

TEST_F(ToolDirectory, APackHasWhatWasRead) {
    const std::string large(200'000, 'x');
    write("deep/part.py", large);
    write("a.py", "A = 1\n");
    write("empty.py", "");
    approve({"deep/part.py", "a.py", "empty.py"});
    const Collection collection = read();
    std::vector<const Module*> modules;
    for (const Module& module : collection.modules) {
        modules.push_back(&module);
    }
    const PackPtr pack = make_pack(modules).value();
    EXPECT_EQ(pack->modules, (Names{"a", "deep.part", "empty"}));
    EXPECT_EQ(::ftruncate(pack->file.get(), 0), -1);  // sealed
    fs::create_directory(place / "jar");
    const Fd directory(::open((place / "jar").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int time = 0; time < 2; ++time) {  // every jar reads from the beginning
        ASSERT_TRUE(jar::unpack_tools(pack->file, directory));
        EXPECT_EQ(fs::file_size(place / "jar/deep/part.py"), large.size());
        EXPECT_EQ(fs::file_size(place / "jar/empty.py"), 0U);
        for (const char* name : {"a.py", "deep", "empty.py"}) {
            fs::remove_all(place / "jar" / name);
        }
    }
    std::ranges::reverse(modules);
    EXPECT_EQ(make_pack(modules).value()->digest, pack->digest);
    modules.pop_back();
    EXPECT_NE(make_pack(modules).value()->digest, pack->digest);
    EXPECT_EQ(make_pack({}).value()->digest, "");
}

TEST(ToolPack, HostileOnesAreRefused) {
    std::string name = testing::TempDir() + "pack-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    const Fd directory(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (const std::string& text :
         {std::string(), std::string(3, 'x'), std::string(100, '\0'), std::string(1000, '\xff')}) {
        const Fd pack = make_sealed_file("pack", text).value();
        EXPECT_FALSE(jar::unpack_tools(pack, directory));
    }
    const Module outside{.approval = {.file = "../outside.py"}, .content = "x"};
    const PackPtr pack = make_pack({&outside}).value();
    EXPECT_FALSE(jar::unpack_tools(pack->file, directory));
    EXPECT_TRUE(fs::is_empty(name));
    fs::remove_all(name);
}

}  // namespace
}  // namespace belljar::approved
