#include "audit/verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>

#include "audit/trail_test_place.h"
#include "audit/upkeep.h"

namespace belljar::audit {
namespace {

class VerificationTest : public TrailTest {
   protected:
    // Three files with every kind of record that a verification looks into.
    void make_trail() {
        const auto writer = open_writer();
        writer->append(entry("ada")).value();
        writer->append(entry("ben", "ä \"quoted\" \\ text")).value();
        ASSERT_TRUE(writer->sign({}));
        ASSERT_TRUE(writer->rotate());
        writer->append(entry("cem")).value();
        writer->append({.kind = "start", .body = {{"program", "serve"}}}).value();
        ASSERT_TRUE(erase_records(directory, *writer, {.filter = {.principal = "ben"}}));
        writer->append(entry("dov")).value();
        ASSERT_TRUE(writer->sign({}));
        ASSERT_EQ(fault(), "");
    }

    void poke(const std::string& name, std::size_t index, char byte) const {
        std::fstream file(place / name, std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(static_cast<std::streamoff>(index));
        file.put(byte);
    }

    [[nodiscard]] std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& item : std::filesystem::directory_iterator(place)) {
            if (item.file_size() > 0) {
                names.push_back(item.path().filename().string());
            }
        }
        std::ranges::sort(names);
        return names;
    }
};

TEST_F(VerificationTest, FindsEveryChangedByte) {
    make_trail();
    const std::vector<std::string> all = files();
    ASSERT_EQ(all.size(), 6U);  // head, two keys, three files
    std::size_t bytes = 0;
    for (const std::string& name : all) {
        const std::string good = read(name);
        for (std::size_t index = 0; index < good.size(); ++index) {
            constexpr std::array kFlips{'\x01', '\x20', '\x80'};
            poke(name, index, static_cast<char>(good[index] ^ kFlips[index % kFlips.size()]));
            const Result<VerificationReport> report = verify_trail(directory);
            ASSERT_TRUE(report && report->fault)
                << name << ", byte " << index << " of " << good.size();
            if (name.starts_with("trail")) {
                ASSERT_TRUE(report->fault->file == name || report->fault->file.empty())
                    << name << " byte " << index << ": " << report->fault->file;
            }
            poke(name, index, good[index]);
            ++bytes;
        }
    }
    EXPECT_EQ(fault(), "");
    EXPECT_GT(bytes, 3000U);
}

TEST_F(VerificationTest, FindsEveryTruncation) {
    make_trail();
    for (const std::string& name : files()) {
        const std::string good = read(name);
        // Every line break is among them, and what is on both sides of it.
        for (std::size_t size = 0; size < good.size(); ++size) {
            const std::size_t begin = size < 2 ? 0 : size - 2;
            if (size % 29 != 0 && good.substr(begin, 4).find('\n') == std::string::npos) {
                continue;
            }
            std::filesystem::resize_file(place / name, size);
            const Result<VerificationReport> report = verify_trail(directory);
            ASSERT_TRUE(report && report->fault) << name << " cut to " << size;
            write(name, good);
        }
        write(name, good);
    }
}

TEST_F(VerificationTest, FindsDroppedDoubledAndExchangedRecords) {
    make_trail();
    for (std::uint64_t number = 1; number <= 3; ++number) {
        const std::vector<std::string> good = lines(number);
        for (std::size_t index = 0; index < good.size(); ++index) {
            std::vector<std::string> bad = good;
            bad.erase(bad.begin() + static_cast<std::ptrdiff_t>(index));
            write_lines(number, bad);
            EXPECT_NE(fault(), "") << "without line " << index + 1 << " of file " << number;
            bad = good;
            bad.insert(bad.begin() + static_cast<std::ptrdiff_t>(index), good[index]);
            write_lines(number, bad);
            EXPECT_NE(fault(), "") << "line " << index + 1 << " of file " << number << " twice";
            if (index > 0) {
                bad = good;
                std::swap(bad[index], bad[index - 1]);
                write_lines(number, bad);
                EXPECT_NE(fault(), "") << "line " << index << " of file " << number;
            }
        }
        write_lines(number, good);
    }
    EXPECT_EQ(fault(), "");
}

TEST_F(VerificationTest, FindsExchangedAndMissingFiles) {
    make_trail();
    const std::string one = read(trail_name(1));
    const std::string two = read(trail_name(2));
    write(trail_name(1), two);
    write(trail_name(2), one);
    EXPECT_NE(fault(), "");
    write(trail_name(1), one);
    write(trail_name(2), two);
    for (const std::string& name : files()) {
        std::filesystem::rename(place / name, place / "away");
        EXPECT_NE(fault(), "") << name;
        std::filesystem::rename(place / "away", place / name);
    }
    EXPECT_EQ(fault(), "");
}

TEST_F(VerificationTest, SaysWhere) {
    make_trail();
    std::vector<std::string> bad = lines(2);
    bad[1].replace(bad[1].find("\"ok\""), 4, "\"no\"");
    write_lines(2, bad);
    const VerificationReport report = verify();
    ASSERT_TRUE(report.fault);
    EXPECT_EQ(report.fault->file, trail_name(2));
    EXPECT_EQ(report.fault->line, 2U);
    EXPECT_EQ(report.fault->seq, 6U);
    EXPECT_EQ(report.fault->why, "its text does not have its hash");
}

// Whoever has no key can compute every hash, and is still found out.
TEST_F(VerificationTest, FindsAChainThatWasMadeAnewWithoutTheKey) {
    make_trail();
    const VerificationReport good = verify();
    std::filesystem::path other = place / "other";
    std::filesystem::create_directory(other);
    const Fd forged = open_directory(other);
    {
        const auto writer = Writer::open(forged, {}).value();
        writer->append(entry("mallory")).value();
        ASSERT_TRUE(writer->sign({}));
    }
    for (const char* name : {"trail-000001.jsonl", "head"}) {
        const std::string mine = read(name);
        std::filesystem::copy_file(other / name, place / name,
                                   std::filesystem::copy_options::overwrite_existing);
        EXPECT_NE(fault(), "") << name;
        write(name, mine);
    }
    // All of it, with another key: only who has kept the public key elsewhere can tell.
    const std::string kept = read(kPublicKeyFile);
    EXPECT_TRUE(verify_trail(forged)->intact());
    EXPECT_FALSE(verify_trail(forged, {.public_key = kept})->intact());
    EXPECT_TRUE(verify_trail(directory, {.public_key = kept})->intact());
    std::filesystem::remove_all(other);
}

TEST_F(VerificationTest, ATrailWithoutItsKeyIsHeldAgainstOneKeptElsewhere) {
    make_trail();
    const std::string kept = read(kPublicKeyFile);
    std::filesystem::remove(place / kKeyFile);
    EXPECT_NE(fault().find("the private key is missing"), std::string::npos) << fault();
    const Result<VerificationReport> report = verify_trail(directory, {.public_key = kept});
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->fault);
    EXPECT_NE(report->notes.front().find("not proved"), std::string::npos);
}

TEST_F(VerificationTest, AnEmptyDirectoryIsNoTrail) {
    EXPECT_EQ(verify_trail(directory).error().code, ErrorCode::NotFound);
}

TEST_F(VerificationTest, HoldsWhileOthersWrite) {
    const auto writer = open_writer({.rotate_size = kibibytes(16)});
    std::atomic<bool> done{false};
    std::thread other([&] {
        while (!done) {
            ASSERT_TRUE(writer->append(entry("ada")));
        }
    });
    for (int count = 0; count < 20; ++count) {
        EXPECT_EQ(fault(), "");
    }
    done = true;
    other.join();
}

}  // namespace
}  // namespace belljar::audit
