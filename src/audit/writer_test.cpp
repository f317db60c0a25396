#include "audit/writer.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <random>
#include <thread>

#include "audit/search.h"
#include "audit/trail_test_place.h"

namespace belljar::audit {
namespace {

using WriterTest = TrailTest;

TEST_F(WriterTest, ChainsRecordsAndGoesOnAfterARestart) {
    for (int start = 0; start < 3; ++start) {
        const auto writer = open_writer();
        EXPECT_EQ(writer->append(entry("ada"))->seq, static_cast<std::uint64_t>(2 + start));
    }
    const VerificationReport report = verify();
    EXPECT_FALSE(report.fault);
    EXPECT_EQ(report.records, 4U);
    EXPECT_EQ(report.last_seq, 4U);
    EXPECT_EQ(report.notes.size(), 1U);  // nothing is signed yet
}

TEST_F(WriterTest, KeepsTheKeyToItsOwner) {
    static_cast<void>(open_writer());
    struct stat status{};
    for (const char* name : {"key.pem", "head", "trail-000001.jsonl"}) {
        ASSERT_EQ(::stat((place / name).c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 07777U, 0600U) << name;
    }
    ASSERT_EQ(::stat((place / "public-key.pem").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0644U);
}

TEST_F(WriterTest, SignsOnlyWhatIsNew) {
    const auto writer = open_writer();
    ASSERT_TRUE(writer->append(entry("ada")));
    ASSERT_TRUE(writer->sign({}));
    ASSERT_TRUE(writer->sign({}));
    EXPECT_EQ(writer->head().signed_seq, 3U);
    EXPECT_EQ(writer->head().end.seq, 3U);
    ASSERT_TRUE(writer->append(entry("ada")));
    ASSERT_TRUE(writer->sign(std::chrono::hours(1)));
    EXPECT_EQ(writer->head().signed_seq, 3U);
    ASSERT_TRUE(writer->sign({}));
    EXPECT_EQ(verify().signatures, 2U);
}

TEST_F(WriterTest, AClockThatWasSetBackDelaysNothing) {
    {
        const auto writer = open_writer();
        ASSERT_TRUE(writer->append(entry("ada")));
        ASSERT_TRUE(writer->sign({}));
        Head ahead = writer->head();
        ahead.signed_at += 100'000'000;
        ahead.begun_at += 100'000'000;
        write(kHeadFile, encode_head(ahead, writer->keys().mac_key));
    }
    const auto writer = open_writer();
    const std::uint64_t seq = writer->append(entry("ada")).value().seq;
    EXPECT_TRUE(writer->is_due_for_rotation());
    ASSERT_TRUE(writer->sign(std::chrono::hours(1)));
    EXPECT_EQ(writer->head().signed_seq, seq + 1);
    EXPECT_EQ(writer->rotate().value(), seq + 1);
    EXPECT_FALSE(writer->is_due_for_rotation());
}

TEST_F(WriterTest, BeginsAnotherFileWhereOneIsFull) {
    const auto writer = open_writer({.rotate_size = kibibytes(4)});
    for (int count = 0; count < 100; ++count) {
        ASSERT_TRUE(writer->append(entry("ada")));
    }
    const VerificationReport report = verify();
    EXPECT_FALSE(report.fault);
    EXPECT_GT(report.files, 5U);
    EXPECT_EQ(report.signatures, report.files - 1);
}

TEST_F(WriterTest, SeveralWritersMakeOneChain) {
    const auto one = open_writer({.rotate_size = kibibytes(64)});
    const auto two = open_writer({.rotate_size = kibibytes(64)});
    const auto write = [](Writer& writer) {
        for (int count = 0; count < 300; ++count) {
            ASSERT_TRUE(writer.append(entry("ada")));
        }
    };
    std::thread other([&] { write(*two); });
    write(*one);
    other.join();
    std::uint64_t runs = 0;
    ASSERT_TRUE(search_trail(directory, {.kind = "run"}, [&](const LineParts&, std::string_view) {
        ++runs;
        return Result<bool>(true);
    }));
    EXPECT_EQ(runs, 600U);
    EXPECT_EQ(fault(), "");
}

TEST_F(WriterTest, SaysWhatWasNeverCompleted) {
    open_writer()->append(entry("ada")).value();
    const std::string whole = read(trail_name(1));
    write(trail_name(1), whole + whole.substr(whole.find("\"seq\":2") - 1, 100));
    EXPECT_EQ(fault(), "");
    EXPECT_EQ(verify().notes.size(), 2U);
    static_cast<void>(open_writer());
    EXPECT_EQ(fault(), "");
    const std::vector<std::string> now = lines(1);
    ASSERT_EQ(now.size(), 3U);
    EXPECT_NE(now.back().find("\"torn_bytes\":100"), std::string::npos);
}

TEST_F(WriterTest, CompletesALineThatLacksOnlyItsBreak) {
    const auto writer = open_writer();
    const std::string head = read(kHeadFile);
    writer->append(entry("ada")).value();
    const std::string whole = read(trail_name(1));
    write(trail_name(1), whole.substr(0, whole.size() - 1));
    write(kHeadFile, head);  // killed before it could say so
    EXPECT_EQ(fault(), "");
    EXPECT_EQ(writer->append(entry("ben"))->seq, 3U);
    EXPECT_EQ(fault(), "");
    EXPECT_EQ(read(trail_name(1)).substr(0, whole.size()), whole);
}

TEST_F(WriterTest, AdoptsARecordThatTheHeadDoesNotKnow) {
    open_writer()->append(entry("ada")).value();
    const std::string head = read(kHeadFile);
    open_writer()->append(entry("ben")).value();
    write(kHeadFile, head);
    EXPECT_EQ(fault(), "");
    EXPECT_EQ(open_writer()->append(entry("cem"))->seq, 4U);
    EXPECT_EQ(fault(), "");
}

TEST_F(WriterTest, ARotationThatWasInterruptedIsDoneAgain) {
    const auto writer = open_writer();
    writer->append(entry("ada")).value();
    ASSERT_TRUE(writer->sign({}));
    const std::string head = read(kHeadFile);
    ASSERT_TRUE(writer->rotate());
    const std::string whole = read(trail_name(2));
    for (const std::string& begun : {std::string("{\"seq\":4,"), std::string(), whole}) {
        write(trail_name(2), begun);
        write(kHeadFile, head);
        EXPECT_EQ(fault(), "");
    }
    const auto next = open_writer();
    next->append(entry("ben")).value();
    EXPECT_EQ(fault(), "");  // the file before has grown since
    write(trail_name(2), whole + lines(1).back() + "\n");
    EXPECT_NE(fault(), "");  // that was no rotation of ours
    write(trail_name(2), whole);
    ASSERT_TRUE(next->rotate());
    next->append(entry("cem")).value();
    EXPECT_EQ(fault(), "");
    EXPECT_EQ(verify().files, 2U);
}

TEST_F(WriterTest, ADamagedHeadIsMadeAnewAndSaysSo) {
    open_writer()->append(entry("ada")).value();
    for (const std::string& bad : {std::string(), std::string(512, 'x')}) {
        write(kHeadFile, bad);
        EXPECT_NE(fault(), "");
        open_writer()->append(entry("ben")).value();
        EXPECT_EQ(fault(), "");
        EXPECT_FALSE(verify().notes.empty());
    }
}

TEST_F(WriterTest, RecordsThatWereLostStayLost) {
    const auto writer = open_writer();
    for (int count = 0; count < 5; ++count) {
        writer->append(entry("ada")).value();
    }
    std::vector<std::string> some = lines(1);
    some.resize(3);
    write_lines(1, some);
    EXPECT_NE(fault().find("missing at the end"), std::string::npos) << fault();
    open_writer()->append(entry("ben")).value();
    EXPECT_NE(fault().find("records 4 to 6 were lost"), std::string::npos) << fault();
}

TEST_F(WriterTest, AddsNothingToARecordThatWasChanged) {
    const auto writer = open_writer();
    const std::string head = read(kHeadFile);
    writer->append(entry("ada")).value();
    std::string text = read(trail_name(1));
    text[text.rfind("some text")] = 'S';
    write(trail_name(1), text);
    write(kHeadFile, head);
    EXPECT_FALSE(Writer::open(directory, {}));
}

// What the parent of a writer that is killed has read: the numbers that were answered for.
std::vector<std::uint64_t> read_numbers(int fd) {
    std::vector<std::uint64_t> numbers;
    std::uint64_t number = 0;
    while (::read(fd, &number, sizeof(number)) == sizeof(number)) {
        numbers.push_back(number);
    }
    return numbers;
}

[[noreturn]] void write_for_ever(const std::filesystem::path& place, int acknowledged,
                                 std::uint64_t seed) {
    const Fd directory(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const Result<std::unique_ptr<Writer>> writer =
        Writer::open(directory, {.rotate_size = mebibytes(1)});
    std::mt19937_64 random(seed);
    while (writer) {
        const Result<Writer::Appended> appended =
            (*writer)->append({.kind = "run",
                               .body = {{"status", "ok"}},
                               .personal = {{"code", std::string(random() % 20'000, 'x')}}});
        if (!appended || (random() % 16 == 0 && !(*writer)->sign({}))) {
            break;
        }
        if (::write(acknowledged, &appended->seq, sizeof(appended->seq)) < 0) {
            break;
        }
    }
    ::_exit(1);
}

// A thousand times: no record that was answered for is lost, and the chain stays whole.
TEST_F(WriterTest, AThousandKillsLoseNothing) {
    std::mt19937_64 random(20261116);
    std::uint64_t last = 0;
    std::uint64_t acknowledged = 0;
    for (int kill = 0; kill < 1000; ++kill) {
        Pipe pipe = make_pipe().value();
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            write_for_ever(place, pipe.write_end.get(), random());
        }
        pipe.write_end.reset();
        // Not before it has written once; then at any moment.
        std::uint64_t first = 0;
        ASSERT_EQ(::read(pipe.read_end.get(), &first, sizeof(first)),
                  static_cast<ssize_t>(sizeof(first)));
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 1500));
        ASSERT_EQ(::kill(child, SIGKILL), 0);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << "the writer gave up";
        const std::vector<std::uint64_t> numbers = read_numbers(pipe.read_end.get());
        EXPECT_GT(first, last);
        last = numbers.empty() ? first : numbers.back();
        acknowledged += 1 + numbers.size();
        const std::string head = read(kHeadFile);
        const Result<Head> now = parse_head(head, "");
        ASSERT_TRUE(now) << head;
        ASSERT_GE(now->end.seq, last);
        if (kill % 100 == 99) {
            ASSERT_EQ(fault(), "") << "after " << kill + 1 << " kills";
            ASSERT_GE(verify().last_seq, last);
        }
    }
    RecordProperty("acknowledged", std::to_string(acknowledged));
    EXPECT_GT(acknowledged, 1000U);
}

}  // namespace
}  // namespace belljar::audit
