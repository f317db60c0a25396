#include "storage/file_import.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "storage/conversation_store.h"

namespace belljar::storage {
namespace {

using execution::Existing;
using execution::FileName;

class FileImport : public ::testing::Test {
   protected:
    void SetUp() override {
        ASSERT_NE(::mkdtemp(path_.data()), nullptr);
        const Fd directory(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        store_ = ConversationStore::open(directory, {.each = {.space = Bytes{100}, .entries = 6}})
                     .value();
    }
    void TearDown() override { std::filesystem::remove_all(path_); }

    static IncomingFile file(std::string path, std::string content) {
        return {.path = std::move(path),
                .content = [content](const ByteSink& sink) { return sink(content); }};
    }

    Result<std::size_t> import(const ImportOrder& order) {
        BJ_TRY(const ConversationDirectory directory, store_->make_conversation(of_));
        BJ_TRY(const auto done, import_files(directory, store_->bounds().each,
                                             Clock::now() + std::chrono::seconds(10), order));
        return done.size();
    }

    // Each as "path=content".
    std::vector<std::string> kept() {
        std::vector<std::string> files;
        for (const execution::FileView& view : store_->files(of_).value()) {
            FileName name = of_;
            name.path = view.path;
            files.push_back(view.path + "=" + store_->read(name, 0, 1000).value().content);
        }
        return files;
    }

    std::string path_ = ::testing::TempDir() + "file_import_XXXXXX";
    std::unique_ptr<ConversationStore> store_;
    const FileName of_{.principal = "alice", .conversation_id = "c"};
};

TEST_F(FileImport, WritesAllFiles) {
    EXPECT_EQ(import({.directory = "in", .files = {file("a", "1"), file("d/b", "")}}).value(), 2U);
    EXPECT_EQ(kept(), (std::vector<std::string>{"in/a=1", "in/d/b="}));
}

TEST_F(FileImport, WritesNoneIfOneCannotBe) {
    ASSERT_TRUE(import({.files = {file("there", "old"), file("d/x", "y")}}));
    const std::vector<std::string> before = kept();
    const auto refusal = [this](std::vector<IncomingFile> more, Existing existing) {
        std::vector<IncomingFile> files{file("new", "n")};
        files.insert(files.end(), more.begin(), more.end());
        return import({.files = files, .existing = existing}).error().code;
    };
    EXPECT_EQ(refusal({file("there", "x")}, Existing::Kept), ErrorCode::Conflict);
    EXPECT_EQ(refusal({file("d", "x")}, Existing::Replaced), ErrorCode::Conflict);
    EXPECT_EQ(refusal({file("there/x", "x")}, Existing::Replaced), ErrorCode::Conflict);
    EXPECT_EQ(refusal({file("new", "x")}, Existing::Replaced), ErrorCode::InvalidArgument);
    EXPECT_EQ(refusal({file("new/x", "x")}, Existing::Replaced), ErrorCode::InvalidArgument);
    EXPECT_EQ(refusal({file("../x", "x")}, Existing::Replaced), ErrorCode::InvalidArgument);
    EXPECT_EQ(refusal({file("big", std::string(200, 'x'))}, Existing::Replaced),
              ErrorCode::QuotaReached);
    EXPECT_EQ(refusal({file("1", ""), file("2", ""), file("3", "")}, Existing::Replaced),
              ErrorCode::QuotaReached);
    const IncomingFile broken{.path = "broken",
                              .content = [](const ByteSink& sink) -> Result<void> {
                                  BJ_TRY_VOID(sink("half"));
                                  return fail(ErrorCode::InvalidArgument, "broken");
                              }};
    EXPECT_EQ(refusal({broken}, Existing::Replaced), ErrorCode::InvalidArgument);
    EXPECT_EQ(kept(), before);
}

TEST_F(FileImport, ReplacesWhereItMay) {
    ASSERT_TRUE(import({.files = {file("a", "old")}}));
    ASSERT_TRUE(import({.files = {file("a", "new")}, .existing = Existing::Replaced}));
    EXPECT_EQ(kept(), std::vector<std::string>{"a=new"});
}

}  // namespace
}  // namespace belljar::storage
