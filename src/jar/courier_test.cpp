#include "jar/courier.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

namespace belljar::jar {
namespace {

// What a courier has sent.
struct Sent {
    std::vector<std::string> directories{};
    std::map<std::string, std::string> files{};
    std::map<std::string, bool> programs{};
    std::vector<std::string> gone{};
    std::map<std::string, LeftReason> left{};
    std::int64_t left_count = 0;
    std::vector<std::string> read{};
    bool reads_seen = false;
};

class Arrivals final : public PackSink {
   public:
    Result<void> on_entry(const PackedEntry& entry) override {
        switch (entry.kind) {
            case PackKind::Directory:
                sent.directories.push_back(entry.path);
                break;
            case PackKind::File:
                current = entry.path;
                sent.files[current] = "";
                sent.programs[current] = entry.executable;
                break;
            case PackKind::Gone:
                sent.gone.push_back(entry.path);
                break;
            case PackKind::Left:
                sent.left[entry.path] = entry.reason;
                break;
            case PackKind::Read:
                sent.read.push_back(entry.path);
                break;
            case PackKind::ReadsSeen:
                sent.reads_seen = true;
                break;
            case PackKind::End:
                sent.left_count = entry.number;
                break;
            default:
                break;
        }
        return {};
    }
    Result<void> on_data(std::string_view data) override {
        sent.files[current] += data;
        return {};
    }

    Sent sent;
    std::string current;
};

using Content = std::map<std::string, std::string>;

class CourierTest : public ::testing::Test {
   protected:
    void SetUp() override {
        std::string name = ::testing::TempDir() + "courier-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        top = name;
        place = top / "workspace";
        std::filesystem::create_directory(place);
        std::ofstream(top / "outside") << "secret";
        std::array<int, 2> ends{};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        server = Fd(ends[0]);
        courier.emplace(Fd(ends[1]), Fd(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    }
    void TearDown() override {
        std::filesystem::permissions(place, std::filesystem::perms::owner_all);
        std::filesystem::remove_all(top);
    }

    // Gives files as a server does and returns how many found no place.
    std::int64_t give(const Content& files, std::int64_t budget = 1 << 20) {
        PackWriter writer(server, TimePoint::max());
        for (const auto& [path, content] : files) {
            EXPECT_TRUE(writer.entry({.kind = PackKind::File, .path = path, .number = 1'000}));
            if (!content.empty()) {
                EXPECT_TRUE(writer.data(content));
            }
            EXPECT_TRUE(writer.entry({.kind = PackKind::FileEnd}));
        }
        EXPECT_TRUE(writer.entry({.kind = PackKind::End, .number = budget}));
        EXPECT_TRUE(writer.flush());
        EXPECT_TRUE(courier->on_readable());
        Arrivals answer;
        EXPECT_TRUE(receive_pack(server, answer, TimePoint::max()));
        return answer.sent.left_count;
    }

    Sent take(Courier::Guests guests = Courier::Guests::Ended) {
        Arrivals arrivals;
        std::thread sender([&] { EXPECT_TRUE(courier->send_changes(guests)); });
        EXPECT_TRUE(receive_pack(server, arrivals, TimePoint::max()));
        sender.join();
        return arrivals.sent;
    }

    void write(const std::string& path, const std::string& content) const {
        std::ofstream(place / path) << content;
    }
    [[nodiscard]] std::string read(const std::string& path) const {
        std::ifstream file(place / path);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    std::filesystem::path top;
    std::filesystem::path place;
    Fd server;
    std::optional<Courier> courier;
};

TEST_F(CourierTest, BringsFilesAndSendsNothingBackIfNothingChanged) {
    EXPECT_FALSE(courier->awaited());
    EXPECT_EQ(give({{"a", "1"}, {"d/e/f", "22"}}), 0);
    EXPECT_TRUE(courier->awaited());
    EXPECT_EQ(read("a"), "1");
    EXPECT_EQ(read("d/e/f"), "22");
    const Sent sent = take();
    EXPECT_EQ(sent.files, Content{});
    EXPECT_TRUE(sent.gone.empty());
    EXPECT_EQ(sent.directories, (std::vector<std::string>{"d", "d/e"}))
        << "only files were given: directories are news";
}

TEST_F(CourierTest, SendsWhatWasCreatedChangedAndDeleted) {
    give({{"changed", "old"}, {"deleted", "x"}, {"same", "y"}});
    write("created", "new");
    write("changed", "new");  // of the same size
    std::filesystem::remove(place / "deleted");
    const Sent sent = take();
    EXPECT_EQ(sent.files, (Content{{"changed", "new"}, {"created", "new"}}));
    EXPECT_EQ(sent.gone, (std::vector<std::string>{"deleted"}));
    EXPECT_EQ(take().files, Content{}) << "once";
}

TEST_F(CourierTest, WhatCannotBeLookedForIsNotTakenForDeleted) {
    give({{"a", "1"}, {"d/b", "2"}});
    rlimit usual{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
    rlimit none = usual;
    none.rlim_cur = 0;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    [[maybe_unused]] const Result<void> cut = courier->send_changes(Courier::Guests::Ended);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
    courier.reset();
    Arrivals arrivals;
    [[maybe_unused]] const Result<void> end = receive_pack(server, arrivals, TimePoint::max());
    EXPECT_TRUE(arrivals.sent.gone.empty());
}

TEST_F(CourierTest, AFileThatWasReplacedIsSentAgain) {
    give({{"a", "old"}});
    write("b", "new");
    const std::array<timespec, 2> times{
        {{.tv_sec = 0, .tv_nsec = 1000}, {.tv_sec = 0, .tv_nsec = 1000}}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (place / "b").c_str(), times.data(), 0), 0);
    std::filesystem::rename(place / "b", place / "a");
    EXPECT_EQ(take().files, (Content{{"a", "new"}}));
}

TEST_F(CourierTest, FollowsNoLink) {
    give({{"a", "1"}});
    std::filesystem::create_symlink(top / "outside", place / "link");
    std::filesystem::create_directory_symlink(top, place / "directory");
    std::filesystem::remove(place / "a");
    std::filesystem::create_symlink("/etc/passwd", place / "a");
    const Sent sent = take();
    EXPECT_EQ(sent.files, Content{});
    EXPECT_EQ(sent.left_count, 3);
    EXPECT_EQ(sent.left.at("link"), LeftReason::Link);
    EXPECT_EQ(sent.left.at("directory"), LeftReason::Link);
    EXPECT_EQ(sent.gone, (std::vector<std::string>{"a"}));
}

TEST_F(CourierTest, GivesNothingThroughALink) {
    give({});
    std::filesystem::create_directory_symlink(top, place / "d");
    EXPECT_EQ(give({{"d/outside", "overwritten"}}), 1);
    std::ifstream file(top / "outside");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "secret");
}

TEST_F(CourierTest, SpecialFilesStayWhereTheyAre) {
    give({});
    ASSERT_EQ(::mkfifo((place / "pipe").c_str(), 0600), 0);
    const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    std::strncpy(address.sun_path, (place / "s").c_str(), sizeof(address.sun_path) - 1);
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const Sent sent = take();
    EXPECT_EQ(sent.files, Content{});
    EXPECT_EQ(sent.left.at("pipe"), LeftReason::Special);
    EXPECT_EQ(sent.left.at("s"), LeftReason::Special);
}

TEST_F(CourierTest, HardLinksAreTwoFiles) {
    give({{"a", "1"}});
    std::filesystem::create_hard_link(place / "a", place / "b");
    const Sent sent = take();
    EXPECT_EQ(sent.files.at("b"), "1");
}

TEST_F(CourierTest, NamesThatNobodyCouldReadAreLeft) {
    give({});
    write("a\nb", "x");
    write("\xff", "x");
    const Sent sent = take();
    EXPECT_EQ(sent.files, Content{});
    EXPECT_EQ(sent.left_count, 2);
    EXPECT_EQ(sent.left.at("a?b"), LeftReason::Name);
}

TEST_F(CourierTest, MoreBytesThanAllowedAreLeft) {
    give({}, 100);
    write("small", std::string(50, 'x'));
    ASSERT_EQ(::truncate((place / "small").c_str(), 50), 0);
    write("giant", "");
    ASSERT_EQ(::truncate((place / "giant").c_str(), off_t{1} << 40), 0);
    const Sent sent = take();
    EXPECT_EQ(sent.files.size(), 1U);
    EXPECT_EQ(sent.files.at("small").size(), 50U);
    EXPECT_EQ(sent.left.at("giant"), LeftReason::TooLarge);
}

TEST_F(CourierTest, DeepTreesEndSomewhere) {
    give({});
    std::filesystem::path deep = place;
    for (int depth = 0; depth < 100; ++depth) {
        deep /= "d";
        std::filesystem::create_directory(deep);
    }
    const Sent sent = take();
    EXPECT_EQ(sent.directories.size(), 32U);
    EXPECT_EQ(sent.left_count, 1);
}

TEST_F(CourierTest, TooManyAreLeftAndNothingIsTakenForDeleted) {
    give({{"zzz", "kept"}});
    for (std::size_t index = 0; index < kMostKept + 50; ++index) {
        std::ofstream(place / ("f" + std::to_string(index)));
    }
    const Sent sent = take();
    EXPECT_LE(sent.files.size(), kMostKept);
    EXPECT_GE(sent.left_count, 50);
    EXPECT_LE(sent.left.size(), kMostLeftTold);
    EXPECT_TRUE(sent.gone.empty());
}

TEST_F(CourierTest, CachesAreNobodysFiles) {
    give({});
    for (const char* path : {".cache/go", "__pycache__", "p/__pycache__"}) {
        std::filesystem::create_directories(place / path);
        write(std::string(path) + "/x", "1");
    }
    const Sent sent = take();
    EXPECT_EQ(sent.files, Content{});
    EXPECT_EQ(sent.left_count, 0);
}

TEST_F(CourierTest, ProgramsStayPrograms) {
    give({});
    write("run.sh", "x");
    std::filesystem::permissions(place / "run.sh", std::filesystem::perms::owner_all);
    write("text", "x");
    const Sent sent = take();
    EXPECT_TRUE(sent.programs.at("run.sh"));
    EXPECT_FALSE(sent.programs.at("text"));
}

TEST_F(CourierTest, SendsWhatItIsAskedFor) {
    give({{"a", "1"}});
    write("b", "2");
    PackWriter writer(server, TimePoint::max());
    ASSERT_TRUE(writer.entry({.kind = PackKind::Take}));
    ASSERT_TRUE(writer.flush());
    ASSERT_TRUE(courier->on_readable());
    Arrivals arrivals;
    ASSERT_TRUE(receive_pack(server, arrivals, TimePoint::max()));
    EXPECT_EQ(arrivals.sent.files, (Content{{"b", "2"}}));
}

TEST_F(CourierTest, EndsWhenTheServerIsGone) {
    server.reset();
    EXPECT_FALSE(courier->on_readable());
}

// --- what was read

using Paths = std::vector<std::string>;

std::string content_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(CourierTest, TellsWhatWasReadAndNothingElse) {
    EXPECT_EQ(give({{"a", "1"}, {"b", "2"}, {"c", "3"}}), 0);
    EXPECT_EQ(content_of(place / "b"), "2");
    std::ofstream(place / "c") << "new";
    std::ofstream(place / "d") << "made";
    EXPECT_EQ(content_of(place / "d"), "made");
    const Sent sent = take();
    EXPECT_TRUE(sent.reads_seen);
    EXPECT_EQ(sent.read, Paths{"b"}) << "what is new was never the server's";
    EXPECT_EQ(sent.files, (Content{{"c", "new"}, {"d", "made"}}));
}

TEST_F(CourierTest, SeesEachReadingAnewWhereAJarGoesOn) {
    EXPECT_EQ(give({{"a", "1"}, {"b", "2"}}), 0);
    EXPECT_EQ(content_of(place / "a"), "1");
    EXPECT_EQ(take(Courier::Guests::MayRun).read, Paths{"a"});
    EXPECT_EQ(take(Courier::Guests::MayRun).read, Paths{}) << "sending is no reading";
    EXPECT_EQ(content_of(place / "a"), "1");
    std::ofstream(place / "b") << "new";
    const Sent second = take(Courier::Guests::MayRun);
    EXPECT_EQ(second.read, Paths{"a"});
    EXPECT_EQ(second.files, (Content{{"b", "new"}}));
    EXPECT_EQ(content_of(place / "b"), "new");
    const Sent third = take();
    EXPECT_EQ(third.read, Paths{"b"});
    EXPECT_TRUE(third.files.empty());
}

TEST_F(CourierTest, WhoSetsTimesBackMayHaveRead) {
    EXPECT_EQ(give({{"a", "1"}, {"b", "2"}}), 0);
    struct stat before{};
    ASSERT_EQ(::stat((place / "a").c_str(), &before), 0);
    EXPECT_EQ(content_of(place / "a"), "1");
    const std::array<timespec, 2> times{before.st_atim, before.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, (place / "a").c_str(), times.data(), 0), 0);
    EXPECT_EQ(take().read, Paths{"a"});
}

TEST_F(CourierTest, AFileIsTheSameByAnyName) {
    EXPECT_EQ(give({{"a", "1"}, {"b", "2"}}), 0);
    std::filesystem::create_hard_link(place / "a", place / "other");
    EXPECT_EQ(content_of(place / "other"), "1");
    std::filesystem::rename(place / "b", place / "moved");
    const Sent sent = take();
    EXPECT_EQ(sent.read, Paths{"a"});
    EXPECT_EQ(sent.gone, Paths{"b"});
    EXPECT_EQ(sent.files, (Content{{"moved", "2"}, {"other", "1"}, {"a", "1"}}));
}

}  // namespace
}  // namespace belljar::jar
