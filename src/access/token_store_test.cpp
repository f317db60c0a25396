#include "access/token_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/id.h"

namespace belljar::access {
namespace {

namespace fs = std::filesystem;

class TokenStoreTest : public testing::Test {
   protected:
    void SetUp() override {
        fs::create_directory(path);
        directory = Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        ASSERT_TRUE(directory.valid());
    }
    void TearDown() override { fs::remove_all(path); }

    void write_token(std::string_view content, mode_t mode = 0600) {
        const Fd file(
            ::open((path / "token").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        ASSERT_TRUE(write_all(file, content));
        ASSERT_EQ(::fchmod(file.get(), mode), 0);
    }

    mode_t mode_of_token() {
        struct stat status{};
        EXPECT_EQ(::lstat((path / "token").c_str(), &status), 0);
        return status.st_mode & 07777U;
    }

    fs::path path = fs::temp_directory_path() / ("belljar-test-" + random_hex(8));
    Fd directory;
};

TEST_F(TokenStoreTest, MakesATokenThatOnlyItsOwnerCanRead) {
    const mode_t before = ::umask(0);
    const StoredToken stored = load_or_create_token(directory).value();
    ::umask(before);
    EXPECT_TRUE(stored.created);
    EXPECT_TRUE(stored.token.starts_with("bj_"));
    EXPECT_GE(stored.token.size(), 40U);
    EXPECT_EQ(stored.token.find_first_of(" \r\n\t"), std::string::npos);
    EXPECT_EQ(mode_of_token(), 0600U);
    EXPECT_FALSE(fs::exists(path / "token.new"));
}

TEST_F(TokenStoreTest, UsesTheSameTokenAgain) {
    const StoredToken first = load_or_create_token(directory).value();
    const StoredToken second = load_or_create_token(directory).value();
    EXPECT_EQ(second.token, first.token);
    EXPECT_FALSE(second.created);
}

TEST_F(TokenStoreTest, MakesAnotherTokenForAnotherDirectory) {
    const StoredToken first = load_or_create_token(directory).value();
    fs::remove(path / "token");
    EXPECT_NE(load_or_create_token(directory).value().token, first.token);
}

TEST_F(TokenStoreTest, TakesATokenThatTheOperatorWrote) {
    write_token("chosen-by-a-person\n");
    EXPECT_EQ(load_or_create_token(directory).value().token, "chosen-by-a-person");
    write_token("chosen-by-a-person");
    EXPECT_EQ(load_or_create_token(directory).value().token, "chosen-by-a-person");
    write_token("chosen-by-a-person\nand a remark\n", 0400);
    EXPECT_EQ(load_or_create_token(directory).value().token, "chosen-by-a-person");
}

TEST_F(TokenStoreTest, RefusesAFileThatOthersCanReach) {
    for (const mode_t mode : {0644U, 0640U, 0660U, 0604U, 0620U, 0601U, 0777U}) {
        write_token("long-enough-to-be-a-token\n", mode);
        const Result<StoredToken> stored = load_or_create_token(directory);
        ASSERT_FALSE(stored) << std::oct << mode;
        EXPECT_EQ(stored.error().code, ErrorCode::Denied);
        EXPECT_NE(stored.error().message.find("chmod 600"), std::string::npos);
        EXPECT_EQ(stored.error().message.find("long-enough"), std::string::npos);
        EXPECT_EQ(mode_of_token(), mode) << "it is left as it was";
    }
}

TEST_F(TokenStoreTest, RefusesATokenThatIsTooShort) {
    for (const std::string_view content :
         {"", "\n", "short\n", "123456789012345\n", "\n1234567890123456\n"}) {
        write_token(content);
        const Result<StoredToken> stored = load_or_create_token(directory);
        ASSERT_FALSE(stored) << content;
        EXPECT_EQ(stored.error().code, ErrorCode::Denied);
    }
    write_token("1234567890123456\n");
    EXPECT_TRUE(load_or_create_token(directory));
}

TEST_F(TokenStoreTest, RefusesATokenThatIsTooLong) {
    write_token(std::string(5000, 'x'));
    EXPECT_EQ(load_or_create_token(directory).error().code, ErrorCode::TooLarge);
}

TEST_F(TokenStoreTest, FollowsNoLink) {
    write_token("long-enough-to-be-a-token\n");
    fs::rename(path / "token", path / "elsewhere");
    fs::create_symlink(path / "elsewhere", path / "token");
    EXPECT_EQ(load_or_create_token(directory).error().sys_errno, ELOOP);
    fs::remove(path / "token");
    fs::create_symlink(path / "nowhere", path / "token");
    EXPECT_FALSE(load_or_create_token(directory));
    EXPECT_FALSE(fs::exists(path / "nowhere"));
}

TEST_F(TokenStoreTest, RefusesWhatIsNoFile) {
    fs::create_directory(path / "token");
    ASSERT_EQ(::chmod((path / "token").c_str(), 0700), 0);
    EXPECT_FALSE(load_or_create_token(directory));
}

TEST_F(TokenStoreTest, ARestOfACrashIsNoObstacle) {
    fs::create_symlink(path / "victim", path / "token.new");
    EXPECT_TRUE(load_or_create_token(directory).value().created);
    EXPECT_FALSE(fs::exists(path / "victim"));
    EXPECT_FALSE(fs::exists(fs::symlink_status(path / "token.new")));
}

TEST_F(TokenStoreTest, SaysWhenTheDirectoryCannotBeWritten) {
    EXPECT_FALSE(load_or_create_token(Fd()));
    const Fd proc(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_FALSE(load_or_create_token(proc));
}

}  // namespace
}  // namespace belljar::access
