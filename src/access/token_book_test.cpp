#include "access/token_book.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "access/token_json.h"
#include "base/id.h"

namespace belljar::access {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr WallTime kNow{seconds(1'800'000'000)};

class TokenBookTest : public testing::Test {
   protected:
    void SetUp() override {
        fs::create_directory(path);
        data = Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        folder = open_token_folder(data).value();
    }
    void TearDown() override { fs::remove_all(path); }

    std::string file_text() {
        return read_file((path / "tokens/tokens.json").string(), mebibytes(1)).value();
    }
    void write_file(std::string_view text, mode_t mode = 0600) {
        const fs::path file = path / "tokens/tokens.json";
        fs::remove(file);
        const Fd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        ASSERT_TRUE(write_all(fd, text));
        ASSERT_EQ(::fchmod(fd.get(), mode), 0);
    }

    fs::path path = fs::temp_directory_path() / ("belljar-test-" + random_hex(8));
    Fd data;
    Fd folder;
    Log log{"test", LogLevel::Error};
    TokenBook book{folder, log};
};

TEST_F(TokenBookTest, KnowsATokenByItsHashOnly) {
    const std::string token = add_token(folder, {.name = "ci", .roles = {"user"}}).value();
    EXPECT_TRUE(token.starts_with("bj_"));
    EXPECT_EQ(token.size(), 67U);
    EXPECT_EQ(file_text().find(token), std::string::npos);
    EXPECT_EQ(file_text().find(token.substr(3, 16)), std::string::npos);
    struct stat status{};
    ASSERT_EQ(::stat((path / "tokens/tokens.json").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0600U);

    const Caller caller = book.find(token, kNow).value();
    EXPECT_EQ(caller.principal, "ci");
    EXPECT_EQ(caller.rights, rights_of_role("user"));
    EXPECT_EQ(caller.proof, Proof::Token);
    for (const std::string& wrong : {std::string(), token + "x", token.substr(1), std::string("ci"),
                                     read_tokens(folder).value().front().sha256}) {
        EXPECT_EQ(book.find(wrong, kNow).error().code, ErrorCode::NotFound) << wrong;
    }
}

TEST_F(TokenBookTest, SeesChangesAtOnce) {
    EXPECT_FALSE(book.find("anything", kNow));
    const std::string first = add_token(folder, {.name = "a", .roles = {"user"}}).value();
    EXPECT_TRUE(book.find(first, kNow));
    const std::string second = add_token(folder, {.name = "b", .roles = {"auditor"}}).value();
    EXPECT_TRUE(book.find(second, kNow));
    ASSERT_TRUE(remove_token(folder, "a"));
    EXPECT_FALSE(book.find(first, kNow));
    EXPECT_TRUE(book.find(second, kNow));
    fs::remove(path / "tokens/tokens.json");
    EXPECT_FALSE(book.find(second, kNow));
}

TEST_F(TokenBookTest, RefusesWhatHasExpired) {
    const NewToken wanted{.name = "a", .roles = {"user"}, .expires = kNow + seconds(10)};
    const std::string token = add_token(folder, wanted).value();
    EXPECT_TRUE(book.find(token, kNow + seconds(9)));
    EXPECT_EQ(book.find(token, kNow).value().expires, kNow + seconds(10));
    const Result<Caller> late = book.find(token, kNow + seconds(10));
    EXPECT_EQ(late.error().code, ErrorCode::Unauthenticated);
    EXPECT_EQ(late.error().message, "the token has expired");
}

TEST_F(TokenBookTest, GivesEachRoleItsRightsAndKeepsTheOthersAsToolSets) {
    const std::string token =
        add_token(folder, {.name = "a", .roles = {"auditor", "log-analysis"}}).value();
    const Caller caller = book.find(token, kNow).value();
    EXPECT_EQ(caller.rights, rights_of_role("auditor"));
    EXPECT_EQ(caller.tool_sets, std::vector<std::string>{"log-analysis"});
}

TEST_F(TokenBookTest, TakesALongTokenOfSomebodysOwn) {
    const std::string own(32, 'x');
    EXPECT_EQ(add_token(folder, {.name = "a", .roles = {"user"}, .chosen = own}).value(), own);
    EXPECT_TRUE(book.find(own, kNow));
    EXPECT_EQ(add_token(folder, {.name = "b", .roles = {"user"}, .chosen = own}).error().code,
              ErrorCode::Conflict);
    for (const std::string& chosen :
         {std::string(31, 'x'), std::string(1025, 'x'), std::string(40, ' '), std::string(40, '\n'),
          std::string("x\0", 2) + std::string(40, 'x')}) {
        const Result<std::string> added =
            add_token(folder, {.name = "c", .roles = {"user"}, .chosen = chosen});
        ASSERT_FALSE(added);
        EXPECT_NE(added.error().message.find("32 to 1024 printable"), std::string::npos);
    }
}

TEST_F(TokenBookTest, RefusesNamesThatAreTakenOrOdd) {
    ASSERT_TRUE(add_token(folder, {.name = "a", .roles = {"user"}}));
    EXPECT_EQ(add_token(folder, {.name = "a", .roles = {"user"}}).error().code,
              ErrorCode::Conflict);
    for (const std::string& name : {std::string(), std::string("oauth:ada"), std::string("a b"),
                                    std::string("../a"), std::string(65, 'a')}) {
        EXPECT_EQ(add_token(folder, {.name = name, .roles = {"user"}}).error().code,
                  ErrorCode::InvalidArgument)
            << name;
    }
    EXPECT_FALSE(add_token(folder, {.name = "b"}));
    EXPECT_FALSE(add_token(folder, {.name = "b", .roles = {"user", "a role"}}));
    EXPECT_EQ(remove_token(folder, "nobody").error().code, ErrorCode::NotFound);
    EXPECT_EQ(read_tokens(folder).value().size(), 1U);
}

TEST_F(TokenBookTest, AFileThatCannotBeTrustedHoldsNoTokens) {
    const std::string token = add_token(folder, {.name = "a", .roles = {"admin"}}).value();
    const std::string good = file_text();
    for (const std::string& text :
         {std::string(), std::string("{}"), std::string("[]"), good + good,
          std::string(R"({"version":2,"tokens":[]})"), std::string(R"({"version":1})"),
          std::string(R"({"version":1,"tokens":[{"name":"a"}]})"),
          std::string(R"({"version":1,"tokens":[7]})")}) {
        write_file(text);
        EXPECT_FALSE(book.find(token, kNow)) << text;
        EXPECT_FALSE(add_token(folder, {.name = "b", .roles = {"user"}})) << "it is not replaced";
    }
    write_file(good, 0644);
    EXPECT_FALSE(book.find(token, kNow));
    write_file(good);
    EXPECT_TRUE(book.find(token, kNow));
    fs::rename(path / "tokens/tokens.json", path / "elsewhere");
    fs::create_symlink(path / "elsewhere", path / "tokens/tokens.json");
    EXPECT_FALSE(book.find(token, kNow));
}

TEST_F(TokenBookTest, EachFieldOfARecordIsChecked) {
    const std::string hash(64, 'a');
    const std::vector<TokenRecord> records{
        {.name = "a", .sha256 = hash, .roles = {"user"}, .created = kNow}};
    const std::string good = tokens_to_text(records);
    EXPECT_EQ(tokens_from_text(good).value().front().created, kNow);
    const auto with = [&good](const std::string& from, const std::string& to) {
        std::string text = good;
        text.replace(text.find(from), from.size(), to);
        return text;
    };
    for (const std::string& text :
         {with(hash, hash.substr(1)), with(hash, std::string(64, 'A')), with("\"a\"", "\"a b\""),
          with("[\"user\"]", "\"user\""), with("[\"user\"]", "[1]"), with("1800000000", "\"now\""),
          with("null", "\"never\""), with(",\"expires\":null", "")}) {
        EXPECT_FALSE(tokens_from_text(text)) << text;
    }
}

TEST_F(TokenBookTest, ManyAtOnceLoseNothing) {
    std::vector<std::thread> threads;
    for (int index = 0; index < 8; ++index) {
        threads.emplace_back([this, index] {
            EXPECT_TRUE(
                add_token(folder, {.name = "t" + std::to_string(index), .roles = {"user"}}));
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(read_tokens(folder).value().size(), 8U);
}

TEST_F(TokenBookTest, TheFolderIsNoLinkAndNobodyElsesToWrite) {
    fs::remove_all(path / "tokens");
    fs::create_directory(path / "other");
    fs::create_symlink(path / "other", path / "tokens");
    EXPECT_FALSE(open_token_folder(data));
    fs::remove(path / "tokens");
    fs::create_directory(path / "tokens");
    ASSERT_EQ(::chmod((path / "tokens").c_str(), 0777), 0);
    EXPECT_EQ(open_token_folder(data).error().code, ErrorCode::Denied);
}

TEST(ParseExpiry, IsATimeFromNow) {
    EXPECT_EQ(parse_expiry("never", kNow).value(), std::nullopt);
    EXPECT_EQ(parse_expiry("30d", kNow).value(), kNow + std::chrono::days(30));
    EXPECT_EQ(parse_expiry("12h", kNow).value(), kNow + std::chrono::hours(12));
    EXPECT_EQ(parse_expiry("1s", kNow).value(), kNow + seconds(1));
    for (const std::string_view text : {"", "d", "0d", "-1d", "1.5d", "99999d", "9999999d", "0",
                                        "soon", "30 d", "1e3d", "Never"}) {
        EXPECT_FALSE(parse_expiry(text, kNow)) << text;
    }
}

TEST_F(TokenBookTest, ATokenHasLimitsOfItsOwn) {
    const execution::PrincipalLimits limits{.requests_per_minute = 5, .runs_per_day = 0};
    const std::string token =
        add_token(folder, {.name = "a", .roles = {"user"}, .limits = limits}).value();
    EXPECT_EQ(book.find(token, kNow).value().limits, limits);
    EXPECT_EQ(book.limits_of("a"), limits);
    EXPECT_EQ(book.limits_of("b"), execution::PrincipalLimits{});
    EXPECT_FALSE(book.empty());
    const execution::PrincipalLimits others{.storage_bytes = 1'000'000'000'000};
    const TokenRecord changed =
        change_token(folder, "a", {.roles = {{"auditor"}}, .limits = others}).value();
    EXPECT_EQ(changed.limits, others);
    EXPECT_EQ(book.find(token, kNow).value().rights, rights_of_role("auditor"));
    EXPECT_EQ(book.limits_of("a"), others);
    EXPECT_EQ(change_token(folder, "b", {}).error().code, ErrorCode::NotFound);
    EXPECT_EQ(change_token(folder, "a", {.roles = {{"a b"}}}).error().code,
              ErrorCode::InvalidArgument);
}

TEST_F(TokenBookTest, ReadsAFileOfBeforeThereWereLimits) {
    write_file(R"({"version":1,"tokens":[{"name":"a","sha256":")" + std::string(64, 'a') +
               R"(","roles":["user"],"created":1,"expires":null}]})");
    EXPECT_EQ(read_tokens(folder).value().front().limits, execution::PrincipalLimits{});
    for (const std::string& limits : {"7", R"({"runs_per_day":-1})", R"({"runs_per_day":"x"})",
                                      R"({"requests_per_minute":5000000000})"}) {
        write_file(R"({"version":1,"tokens":[{"name":"a","sha256":")" + std::string(64, 'a') +
                   R"(","roles":["user"],"created":1,"expires":null,"limits":)" + limits + "}]}");
        EXPECT_FALSE(read_tokens(folder)) << limits;
    }
}

}  // namespace
}  // namespace belljar::access
