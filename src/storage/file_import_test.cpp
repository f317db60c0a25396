#include "storage/file_import.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

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

class FullImport : public FileImport {
   protected:
    // Takes what is left of a file system's inodes but a few.
    static bool leave_inodes(const std::string& place, std::uint64_t count) {
        struct statvfs room{};
        for (int number = 0; ::statvfs(place.c_str(), &room) == 0 && room.f_ffree > count;
             ++number) {
            const std::string name = place + "/taken" + std::to_string(number);
            if (!Fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)).valid()) {
                return false;
            }
        }
        return room.f_ffree == count;
    }

    // In a mount namespace of its own; the number of the expectation that failed.
    int import_into_a_full_disk(std::size_t files) {
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", "", MS_REC | MS_PRIVATE, "") != 0 ||
            ::mount("none", path_.c_str(), "tmpfs", 0, "size=4m,nr_inodes=200") != 0) {
            return 1;
        }
        const Fd directory(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        store_ = ConversationStore::open(directory, {}).value();
        if (!import({.files = {file("old", "1")}})) {
            return 2;
        }
        ImportOrder order{.files = {file("old", "2"), file("a", ""), file("b/c/x", "")},
                          .existing = Existing::Replaced};
        while (order.files.size() < files) {
            order.files.push_back(file("b/" + std::to_string(order.files.size()), ""));
        }
        order.files.push_back(file("d/y", ""));
        // For all files, b and b/c, but not for d.
        if (!leave_inodes(path_, order.files.size() + 2)) {
            return 3;
        }
        const auto refused = import(order);
        if (refused || refused.error().code != ErrorCode::StorageFull) {
            return 4;
        }
        const auto there =
            store_->page_files({.where = of_, .show = execution::Show::FilesAndDirectories});
        if (!there || there->files.size() != 1 || kept() != std::vector<std::string>{"old=1"}) {
            return 5;
        }
        return store_->usage(of_).value().entries == 1 ? 0 : 6;
    }

    void expect_none(std::size_t files) {
        if (::geteuid() != 0) {
            GTEST_SKIP() << "only root mounts a file system";
        }
        const pid_t child = ::fork();
        if (child == 0) {
            ::_exit(import_into_a_full_disk(files));
        }
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0) << WEXITSTATUS(status);
    }
};

TEST_F(FullImport, LeavesNothingOfAFew) { expect_none(3); }

TEST_F(FullImport, LeavesNothingOfMany) { expect_none(100); }

}  // namespace
}  // namespace belljar::storage
