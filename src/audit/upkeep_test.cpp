#include "audit/upkeep.h"

#include <fmt/format.h>

#include <array>

#include "audit/search.h"
#include "audit/trail_test_place.h"
#include "crypto/digest.h"

namespace belljar::audit {
namespace {

class UpkeepTest : public TrailTest {
   protected:
    [[nodiscard]] std::size_t count(const Filter& filter) const {
        std::size_t found = 0;
        EXPECT_TRUE(search_trail(directory, filter, [&](const LineParts&, std::string_view) {
            ++found;
            return Result<bool>(true);
        }));
        return found;
    }
};

TEST_F(UpkeepTest, ErasureTakesThePersonAndLeavesTheChain) {
    const auto writer = open_writer({.rotate_size = kibibytes(4)});
    for (int index = 0; index < 20; ++index) {
        writer->append(entry(index % 2 == 0 ? "ada" : "ben", "secret of a person")).value();
    }
    const Result<ErasureReport> report =
        erase_records(directory, *writer,
                      {.filter = {.principal = "ada"}, .asked_by = "root", .reason = "asked"});
    ASSERT_TRUE(report) << report.error().describe();
    EXPECT_EQ(report->records, 10U);
    EXPECT_EQ(fault(), "");
    EXPECT_EQ(verify().erased, 10U);
    EXPECT_EQ(count({.principal = "ada"}), 0U);
    EXPECT_EQ(count({.principal = "ben"}), 10U);
    EXPECT_EQ(count({.kind = "run"}), 20U);
    for (const std::uint64_t number : list_trail(directory).value()) {
        EXPECT_EQ(read(trail_name(number)).find("\"ada\""), std::string::npos);
    }
    EXPECT_FALSE(std::filesystem::exists(place / kErasureFile));
    writer->append(entry("cem")).value();
    EXPECT_EQ(fault(), "");
}

TEST_F(UpkeepTest, NobodyElseCanErase) {
    const auto writer = open_writer();
    writer->append(entry("ada")).value();
    writer->append(entry("ben")).value();
    ASSERT_TRUE(erase_records(directory, *writer, {.filter = {.principal = "ada"}}));
    ASSERT_EQ(fault(), "");
    std::vector<std::string> some = lines(1);
    const Result<LineParts> parts = split_line(some[2]);
    ASSERT_TRUE(parts && !parts->erased);
    std::string erased = erase_personal(*parts);
    erased.pop_back();
    some[2] = erased;
    write_lines(1, some);
    EXPECT_EQ(verify().fault->seq, 3U);
    EXPECT_NE(fault().find("no record says so"), std::string::npos);
}

TEST_F(UpkeepTest, WhatIsLeftAfterAnErasureCannotBeChanged) {
    const auto writer = open_writer();
    writer->append(entry("ada")).value();
    ASSERT_TRUE(erase_records(directory, *writer, {.filter = {.principal = "ada"}}));
    const std::string good = read(trail_name(1));
    for (const std::string_view word : {"\"ok\"", "erased", "id of"}) {
        std::string bad = good;
        bad[bad.find(word) + 1] = 'x';
        write(trail_name(1), bad);
        EXPECT_NE(fault(), "") << word;
    }
}

TEST_F(UpkeepTest, AnInterruptedErasureIsCompleted) {
    const auto writer = open_writer();
    writer->append(entry("ada")).value();
    ASSERT_TRUE(writer->rotate());
    const std::string before = read(trail_name(1));
    // As it would be left behind: the order is there, and nothing was rewritten.
    std::filesystem::create_directory(place / "copy");
    ASSERT_TRUE(erase_records(directory, *writer, {.filter = {.principal = "ada"}}));
    const std::string after = read(trail_name(1));
    ASSERT_NE(before, after);
    write(trail_name(1), before);
    EXPECT_EQ(fault(), "");  // as long as it is as it was, too
    EXPECT_TRUE(finish_erasure(directory, *writer));
    EXPECT_EQ(read(trail_name(1)), before);  // nobody has asked for anything
    write(kErasureFile, std::string(64, '0') + "\n{\"records\":[[2,2]]}\n");
    EXPECT_FALSE(finish_erasure(directory, *writer));  // not ours
    EXPECT_EQ(read(trail_name(1)), before);
}

TEST_F(UpkeepTest, AnErasureThatWasInterruptedIsCompletedBeforeTheNext) {
    const auto writer = open_writer();
    const std::uint64_t seq = writer->append(entry("ada")).value().seq;
    writer->append(entry("ben")).value();
    ASSERT_TRUE(writer->rotate());
    const std::string order =
        fmt::format(R"({{"records":[[{0},{0}]],"asked_by":"root","reason":""}})", seq);
    const std::string mac = to_hex(crypto::hmac_sha256(
        writer->keys().mac_key, fmt::format("belljar audit erasure\n{}", order)));
    write(kErasureFile, fmt::format("{}\n{}\n", mac, order));
    ASSERT_TRUE(erase_records(directory, *writer, {.filter = {.principal = "ben"}}));
    EXPECT_EQ(count({.principal = "ada"}), 0U);
    EXPECT_EQ(count({.principal = "ben"}), 0U);
    EXPECT_EQ(fault(), "");
}

TEST_F(UpkeepTest, AReasonIsCutAndMadeValid) {
    const auto writer = open_writer();
    for (const std::string& reason : {std::string(1023, 'a') + "\u00e9", std::string("\xff\xfe")}) {
        writer->append(entry("ada")).value();
        ASSERT_TRUE(
            erase_records(directory, *writer,
                          {.filter = {.principal = "ada"}, .asked_by = reason, .reason = reason}));
        EXPECT_EQ(fault(), "");
    }
}

TEST_F(UpkeepTest, ErasingEverybodyIsRefused) {
    const auto writer = open_writer();
    EXPECT_EQ(erase_records(directory, *writer, {}).error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(erase_records(directory, *writer, {.filter = {.kind = "run"}}).error().code,
              ErrorCode::InvalidArgument);
    EXPECT_EQ(erase_records(directory, *writer, {.filter = {.principal = "nobody"}})->records, 0U);
    EXPECT_EQ(fault(), "");
}

TEST_F(UpkeepTest, OldFilesGoAndTheRestStillVerifies) {
    const auto writer = open_writer({.rotate_size = kibibytes(4)});
    for (int index = 0; index < 60; ++index) {
        writer->append(entry("ada")).value();
    }
    const std::size_t files = list_trail(directory)->size();
    ASSERT_GT(files, 3U);
    EXPECT_EQ(remove_old_files(directory, *writer, std::chrono::hours(1)).value(), 0U);
    // Everything is older than a moment in the future.
    EXPECT_EQ(remove_old_files(directory, *writer, -std::chrono::hours(1)).value(), files - 1);
    EXPECT_EQ(fault(), "");
    EXPECT_GT(verify().first_seq, 1U);
    for (int index = 0; index < 60; ++index) {
        writer->append(entry("ben")).value();
    }
    EXPECT_EQ(fault(), "");
    const std::vector<std::uint64_t> left = list_trail(directory).value();
    std::filesystem::remove(place / trail_name(left.front()));
    EXPECT_NE(fault(), "");
}

TEST_F(UpkeepTest, AFileFromAheadOfTheClockKeepsNoOtherForEver) {
    {
        const auto writer = open_writer();
        Head head = writer->head();
        const EncodedLine line =
            encode_line(entry("ada"), head.end,
                        std::chrono::system_clock::now() + std::chrono::hours(24 * 3650),
                        writer->keys().mac_key);
        write(trail_name(1), read(trail_name(1)) + line.text);
        head.size += line.text.size();
        head.end = line.end;
        head.signed_seq = line.end.seq;  // so that nothing of today closes the file
        write(kHeadFile, encode_head(head, writer->keys().mac_key));
    }
    const auto writer = open_writer();
    ASSERT_TRUE(writer->rotate());
    EXPECT_EQ(remove_old_files(directory, *writer, -std::chrono::hours(1)).value(), 0U);
    writer->append(entry("ben")).value();
    ASSERT_TRUE(writer->rotate());
    EXPECT_EQ(remove_old_files(directory, *writer, -std::chrono::hours(1)).value(), 2U);
    EXPECT_EQ(fault(), "");
}

}  // namespace
}  // namespace belljar::audit
