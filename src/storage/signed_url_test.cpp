#include "storage/signed_url.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/percent.h"

namespace belljar::storage {
namespace {

using execution::FileName;
using execution::WallTime;
using std::chrono::hours;
using std::chrono::seconds;

const WallTime kNow{seconds(1'800'000'000)};
const FileName kFile{.principal = "alice", .conversation_id = "talk/1", .path = "a b/größe.txt"};

UrlSigner signer(UrlSigner::Options options = {}) {
    options.secret = options.secret.empty() ? "secret" : options.secret;
    UrlSigner made(std::move(options));
    made.set_base("https://x.example");
    return made;
}

struct Address {
    std::string conversation{};
    std::string path{};
    std::string query{};
};

Address split(const std::string& url) {
    const std::string rest = url.substr(std::string("https://x.example/files/").size());
    const std::size_t slash = rest.find('/');
    const std::size_t mark = rest.find('?');
    return {.conversation = percent_decoded(rest.substr(0, slash)).value(),
            .path = percent_decoded(rest.substr(slash + 1, mark - slash - 1)).value(),
            .query = rest.substr(mark + 1)};
}

std::optional<UrlSigner::Grant> verify(const UrlSigner& by, const Address& address,
                                       WallTime now = kNow, std::string_view method = "GET") {
    return by.verify({.method = method,
                      .conversation_id = address.conversation,
                      .path = address.path,
                      .query = address.query},
                     now);
}

TEST(UrlSigner, LeadsToTheOwnersFileWithoutTellingItsName) {
    const UrlSigner by = signer();
    const UrlSigner::Issued issued = by.issue({.file = kFile}, kNow);
    EXPECT_TRUE(
        issued.url.starts_with("https://x.example/files/talk%2F1/a%20b/gr%C3%B6%C3%9Fe.txt?by="));
    EXPECT_EQ(issued.url.find("alice"), std::string::npos);
    const auto grant = verify(by, split(issued.url));
    ASSERT_TRUE(grant);
    EXPECT_EQ(grant->file, kFile);
    EXPECT_EQ(grant->once, "");
    EXPECT_TRUE(verify(by, split(issued.url), kNow, "HEAD"));
    EXPECT_FALSE(verify(by, split(issued.url), kNow, "PUT"));
}

TEST(UrlSigner, EndsToTheSecond) {
    const UrlSigner by = signer();
    const UrlSigner::Issued issued = by.issue({.file = kFile}, kNow);
    EXPECT_EQ(issued.expires, kNow + hours(1));
    const Address address = split(issued.url);
    EXPECT_TRUE(verify(by, address, kNow + hours(1) - seconds(1)));
    EXPECT_FALSE(verify(by, address, kNow + hours(1)));
    EXPECT_TRUE(verify(by, address, kNow - hours(100)));  // a clock that was set back
}

TEST(UrlSigner, SignsForNoLongerThanTheMaximum) {
    const UrlSigner by = signer({.maximum = hours(2)});
    const auto end = [&by](std::optional<Duration> lifetime) {
        return by.issue({.file = kFile, .lifetime = lifetime}, kNow).expires;
    };
    EXPECT_EQ(end(std::nullopt), kNow + hours(1));
    EXPECT_EQ(end(seconds(5)), kNow + seconds(5));
    EXPECT_EQ(end(hours(3)), kNow + hours(2));
    EXPECT_EQ(end(Duration::zero()), kNow + hours(2));
    const UrlSigner unbounded = signer({.lifetime = Duration::zero(), .maximum = {}});
    const UrlSigner::Issued issued = unbounded.issue({.file = kFile}, kNow);
    EXPECT_EQ(issued.expires, std::nullopt);
    EXPECT_EQ(issued.url.find("exp="), std::string::npos);
    EXPECT_TRUE(verify(unbounded, split(issued.url), kNow + hours(100'000)));
}

TEST(UrlSigner, NothingOfAnAddressCanBeChanged) {
    const UrlSigner by = signer();
    const Address good = split(by.issue({.file = kFile, .use = UrlSigner::Use::Single}, kNow).url);
    ASSERT_TRUE(verify(by, good));
    for (std::size_t index = 0; index < good.query.size(); ++index) {
        Address changed = good;
        changed.query[index] = changed.query[index] == '1' ? '2' : '1';
        EXPECT_FALSE(verify(by, changed)) << changed.query;
    }
    EXPECT_FALSE(verify(by, {"talk/2", good.path, good.query}));
    EXPECT_FALSE(verify(by, {good.conversation, good.path + "x", good.query}));
    EXPECT_FALSE(verify(by, {"talk", "1/" + good.path, good.query}));
    EXPECT_FALSE(verify(by, {good.conversation, good.path, good.query + "&x=1"}));
    EXPECT_FALSE(verify(by, {good.conversation, good.path, good.query + "&" + good.query}));
    EXPECT_FALSE(verify(by, {good.conversation, good.path, ""}));
    EXPECT_FALSE(verify(by, {good.conversation, good.path, "sig="}));
    EXPECT_FALSE(verify(signer({.secret = "other"}), good));
    const std::size_t exp = good.query.find("exp=");
    Address endless = good;
    endless.query.erase(exp, endless.query.find('&', exp) - exp + 1);
    EXPECT_FALSE(verify(by, endless));
    Address nobody = good;
    nobody.query.erase(0, nobody.query.find('&') + 1);
    EXPECT_FALSE(verify(by, nobody));
}

TEST(UrlSigner, AnAddressOfOneOwnerIsNoneOfAnother) {
    const UrlSigner by = signer();
    FileName other = kFile;
    other.principal = "bob";
    const Address first = split(by.issue({.file = kFile}, kNow).url);
    const Address second = split(by.issue({.file = other}, kNow).url);
    const auto owner = [](const std::string& query) { return query.substr(0, query.find('&')); };
    const auto rest = [](const std::string& query) { return query.substr(query.find('&')); };
    EXPECT_FALSE(
        verify(by, {first.conversation, first.path, owner(second.query) + rest(first.query)}));
}

TEST(UrlSigner, MarksWhatMayBeUsedOnce) {
    const UrlSigner by = signer();
    const UrlSigner::Order order{.file = kFile, .use = UrlSigner::Use::Single};
    const auto first = verify(by, split(by.issue(order, kNow).url));
    const auto second = verify(by, split(by.issue(order, kNow).url));
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->once.size(), 32U);
    EXPECT_NE(first->once, second->once);
}

// python3 -c "import hmac; print(hmac.new(b'secret', b'c1/plot.png', 'sha256').hexdigest())"
constexpr const char* kLegacy =
    "sig=30e000b21e25808f1532adaf6e0294e57a478a9b09fb687046375a866f5ba23d";

TEST(UrlSigner, TakesTheFormWithoutAnEndOnlyIfItIsToldTo) {
    const Address address{"c1", "plot.png", kLegacy};
    EXPECT_FALSE(verify(signer(), address));
    const UrlSigner legacy = signer({.legacy = UrlSigner::Legacy::Accepted});
    const auto grant = verify(legacy, address, kNow + hours(1'000'000));
    ASSERT_TRUE(grant);
    EXPECT_EQ(grant->file, (FileName{.conversation_id = "c1", .path = "plot.png"}));
    EXPECT_FALSE(verify(legacy, {"c1", "plot.pn", kLegacy}));
    EXPECT_FALSE(verify(legacy, {"c1", "plot.png", std::string(kLegacy) + "&exp=1900000000"}));
    EXPECT_TRUE(verify(legacy, split(legacy.issue({.file = kFile}, kNow).url)));
}

TEST(FileSecret, IsMadeOnceAndIsPrivate) {
    std::string path = ::testing::TempDir() + "file_secret_XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    const Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto first = load_or_create_file_secret(directory);
    ASSERT_TRUE(first) << first.error().describe();
    EXPECT_EQ(first->size(), 64U);
    EXPECT_EQ(load_or_create_file_secret(directory).value(), *first);
    struct stat status{};
    ASSERT_EQ(::fstatat(directory.get(), "file_secret", &status, 0), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    ASSERT_EQ(::fchmodat(directory.get(), "file_secret", 0644, 0), 0);
    EXPECT_EQ(load_or_create_file_secret(directory).error().code, ErrorCode::Denied);
    ::unlinkat(directory.get(), "file_secret", 0);
    ::rmdir(path.c_str());
}

}  // namespace
}  // namespace belljar::storage
