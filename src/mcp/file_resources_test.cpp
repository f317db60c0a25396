#include "mcp/file_resources.h"

#include <gtest/gtest.h>

#include "mcp/resource_range.h"
#include "mcp/testing/owned_files.h"
#include "mcp/testing/run_task.h"

namespace belljar::mcp {
namespace {

using Kind = execution::FileChange::Kind;

class FileResourcesTest : public testing::Test {
   protected:
    FileResourcesTest() {
        files.put({"alice", "old", "notes/a.txt"}, "first");
        files.put({"alice", "new", "plot.png"}, "\x89PNG");
        files.put({"bob", "secret", "b.txt"}, "his");
    }

    RpcResult<ResourceContents> read(std::string uri, Asker asker = {.principal = "alice"}) {
        auto round = run_task(
            provider.read_resource({.uri = std::move(uri), .asker = std::move(asker)}, nullptr));
        if (!round) {
            return std::unexpected(round.error());
        }
        return std::get<ResourceContents>(*round);
    }

    std::vector<std::string> complete(std::string argument, std::string begun,
                                      std::map<std::string, std::string> context = {}) {
        return run_task(provider.complete({.of = CompletionRequest::Of::Template,
                                           .name = std::string(FileResources::kTemplate),
                                           .argument = std::move(argument),
                                           .begun = std::move(begun),
                                           .context = std::move(context),
                                           .asker = {.principal = "alice"}}))
            .value()
            .values;
    }

    asio::io_context io;
    OwnedFiles files;
    Changes changes;
    FileResources provider{io.get_executor(), files, changes};
};

TEST_F(FileResourcesTest, ListsOnesOwnNewestConversationFirst) {
    const auto listed = run_task(provider.resources({.principal = "alice"}));
    ASSERT_EQ(listed.size(), 2U);
    EXPECT_EQ(listed[0].uri, "belljar://conversations/new/files/plot.png");
    EXPECT_EQ(listed[0].mime, "image/png");
    EXPECT_EQ(listed[0].size, 4U);
    EXPECT_EQ(listed[1].name, "notes/a.txt");
    EXPECT_EQ(listed[1].title, "a.txt");
    EXPECT_TRUE(run_task(provider.resources({.principal = "carol"})).empty());
    EXPECT_TRUE(
        run_task(provider.resources({.principal = "alice", .rights = access::Rights{}})).empty());
}

TEST_F(FileResourcesTest, AListHasAnEnd) {
    for (std::size_t number = 0; number < FileResources::kMostListed + 5; ++number) {
        files.put({"alice", "full", "f" + std::to_string(number)}, "");
    }
    EXPECT_EQ(run_task(provider.resources({.principal = "alice"})).size(),
              FileResources::kMostListed);
}

TEST_F(FileResourcesTest, ReadsAFileAndAPartOfIt) {
    const auto whole = read("belljar://conversations/old/files/notes/a.txt");
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->parts.front().bytes, "first");
    const auto part = read("belljar://conversations/old/files/notes/a.txt?offset=1&length=3");
    EXPECT_EQ(part->parts.front().bytes, "irs");
    EXPECT_EQ(part->parts.front().uri,
              "belljar://conversations/old/files/notes/a.txt?offset=1&length=3");
    EXPECT_EQ(part->parts.front().meta.at("belljar/range").at("next"),
              json::value("belljar://conversations/old/files/notes/a.txt?offset=4&length=3"));
    EXPECT_EQ(read("belljar://conversations/new/files/plot.png")->parts.front().form,
              ResourcePart::Form::Blob);
}

TEST_F(FileResourcesTest, NoReadGivesMoreThanItMay) {
    files.put({"alice", "old", "big"}, std::string(kMostPerRead + 10, 'x'));
    const auto first = read("belljar://conversations/old/files/big");
    EXPECT_EQ(first->parts.front().bytes.size(), kMostPerRead);
    const auto next = first->parts.front().meta.at("belljar/range").at("next").as_string();
    EXPECT_EQ(read(std::string(next))->parts.front().bytes, std::string(10, 'x'));
}

TEST_F(FileResourcesTest, WhatIsNotThereAndWhatIsAnothersIsTheSame) {
    for (const char* uri :
         {"belljar://conversations/secret/files/b.txt", "belljar://conversations/old/files/x",
          "belljar://conversations/old", "belljar://conversations/old/files/%zz"}) {
        const auto contents = read(uri);
        ASSERT_FALSE(contents) << uri;
        EXPECT_EQ(contents.error().code, RpcCode::ResourceNotFound);
        EXPECT_EQ(contents.error().data, json::value({{"uri", uri}}));
    }
}

TEST_F(FileResourcesTest, ReadingNeedsTheRight) {
    const auto contents = read("belljar://conversations/old/files/notes/a.txt",
                               {.principal = "alice", .rights = {access::Right::RunExec}});
    ASSERT_FALSE(contents);
    EXPECT_NE(contents.error().message.find("files:read"), std::string::npos);
}

TEST_F(FileResourcesTest, CompletesIdsAndPaths) {
    EXPECT_EQ(complete("id", "").size(), 2U);
    EXPECT_EQ(complete("id", "o"), std::vector<std::string>{"old"});
    EXPECT_TRUE(complete("id", "O").empty()) << "case matters";
    EXPECT_TRUE(complete("id", "sec").empty()) << "another's";
    EXPECT_EQ(complete("path", "no", {{"id", "old"}}), std::vector<std::string>{"notes/a.txt"});
    EXPECT_TRUE(complete("path", "", {{"id", "secret"}}).empty());
    EXPECT_TRUE(complete("path", "").empty());
    EXPECT_TRUE(complete("offset", "").empty());
    EXPECT_FALSE(run_task(provider.complete(
        {.of = CompletionRequest::Of::Template, .name = "other", .argument = "id"})));
}

TEST_F(FileResourcesTest, TellsOfChanges) {
    std::vector<Change> heard;
    const auto listening =
        changes.listen([&heard](const Change& change) { heard.push_back(change); });
    files.tell({"alice", "old", "notes/a.txt"}, Kind::Changed);
    ASSERT_EQ(heard.size(), 1U);
    EXPECT_EQ(heard[0].kind, Change::Kind::Resource);
    EXPECT_EQ(heard[0].name, "belljar://conversations/old/files/notes/a.txt");
    EXPECT_TRUE(heard[0].concerns("alice"));
    EXPECT_FALSE(heard[0].concerns("bob"));
    heard.clear();
    io.run();
    EXPECT_TRUE(heard.empty()) << "the list is as it was";
}

TEST_F(FileResourcesTest, ManyNewFilesAreOneNewListOfEach) {
    std::vector<std::string> lists;
    const auto listening = changes.listen([&lists](const Change& change) {
        if (change.kind == Change::Kind::Resources) {
            lists.push_back(*change.principal);
        }
    });
    for (int round = 0; round < 2; ++round) {
        files.tell({"alice", "old", "x"}, Kind::Created);
        files.tell({"alice", "old", "y"}, Kind::Deleted);
        files.tell({"bob", "b", "y"}, Kind::Created);
        EXPECT_TRUE(lists.empty());
        io.restart();
        io.run();
        EXPECT_EQ(lists, (std::vector<std::string>{"alice", "bob"}));
        lists.clear();
    }
}

TEST(FileResourcesWithoutFiles, ShowsNoneAndFindsNone) {
    asio::io_context io;
    engine::Conversations nothing;
    Changes changes;
    FileResources provider(io.get_executor(), nothing, changes);
    EXPECT_TRUE(run_task(provider.resources({})).empty());
    const auto read =
        run_task(provider.read_resource({.uri = "belljar://conversations/a/files/b"}, nullptr));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, RpcCode::ResourceNotFound);
}

}  // namespace
}  // namespace belljar::mcp
