#include "storage/zip_reader.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/test_archive.h"
#include "storage/zip_writer.h"

namespace belljar::storage {
namespace {

// What is in the archive, each file as "path=content"; or the refusal.
std::vector<std::string> read(const std::string& archive, const ZipBounds& bounds = {}) {
    const Fd file = make_sealed_file("archive", archive).value();
    const Result<ZipReader> reader = ZipReader::open(file, archive.size(), bounds);
    if (!reader) {
        return {"refused: " + reader.error().message};
    }
    std::vector<std::string> found;
    for (const ZipEntry& entry : reader->files()) {
        std::string content;
        const Result<void> done = reader->read(entry, [&content](std::string_view data) {
            content += data;
            return Result<void>{};
        });
        found.push_back(done ? entry.path + "=" + content : "refused: " + done.error().message);
    }
    return found;
}

bool is_refused(const std::string& archive, const ZipBounds& bounds = {}) {
    for (const std::string& one : read(archive, bounds)) {
        if (one.starts_with("refused: ")) {
            return true;
        }
    }
    return false;
}

std::string archive_of(const TestArchive::Entry& entry) {
    TestArchive archive;
    archive.add(entry);
    return archive.finish();
}

std::string written(const std::vector<std::pair<std::string, std::string>>& files) {
    const Fd file = Fd(::memfd_create("archive", MFD_CLOEXEC));
    ZipWriter writer(file);
    for (const auto& [path, content] : files) {
        EXPECT_TRUE(writer.begin({.path = path, .directory = content == "(directory)"}));
        if (content != "(directory)") {
            EXPECT_TRUE(writer.append(content));
        }
        EXPECT_TRUE(writer.end());
    }
    const std::uint64_t size = writer.finish().value();
    EXPECT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
    const std::string bytes = read_all(file, mebibytes(64)).value();
    EXPECT_EQ(bytes.size(), size);
    return bytes;
}

TEST(ZipReader, ReadsWhatTheWriterWrites) {
    const std::string large(300'000, 'x');
    EXPECT_EQ(
        read(written(
            {{"a.txt", "hello"}, {"d", "(directory)"}, {"d/empty", ""}, {"größe 😀", large}})),
        (std::vector<std::string>{"a.txt=hello", "d/empty=", "größe 😀=" + large}));
    EXPECT_EQ(read(written({})), std::vector<std::string>{});
    EXPECT_EQ(read(written({{"..\\evil", "x"}})), std::vector<std::string>{"..%5Cevil=x"});
}

TEST(ZipReader, ReadsStoredFilesAndExecutableOnes) {
    const std::string archive =
        archive_of({.name = "run.sh", .content = "ls", .attributes = (S_IFREG | 0755U) << 16U});
    EXPECT_EQ(read(archive), std::vector<std::string>{"run.sh=ls"});
    const Fd file = make_sealed_file("archive", archive).value();
    EXPECT_TRUE(ZipReader::open(file, archive.size(), {}).value().files().front().executable);
    TestArchive commented;
    commented.add({.name = "a", .content = "b"});
    EXPECT_EQ(read(commented.finish("a comment")), std::vector<std::string>{"a=b"});
}

TEST(ZipReader, RefusesNamesThatLeadElsewhere) {
    for (const char* name :
         {"../a", "a/../../b", "/etc/passwd", "a//b", "./a", "a/./b", "..", ".", "", "..\\a",
          "a\\..\\b", "C:/a", "C:a", "a\nb", "\xff", "//server/share", "../", "a/.."}) {
        EXPECT_TRUE(is_refused(archive_of({.name = name, .content = "x"}))) << name;
    }
    EXPECT_TRUE(is_refused(archive_of({.name = std::string("a\0b", 3)})));
    EXPECT_TRUE(is_refused(archive_of({.name = std::string(256, 'a')})));
    EXPECT_TRUE(is_refused(archive_of({.name = std::string(2000, '/')})));
    EXPECT_FALSE(is_refused(archive_of({.name = "-rf \"x\" \u2215..\u2215 . .txt"})));
}

TEST(ZipReader, RefusesWhatIsNoFile) {
    for (const mode_t kind :
         std::vector<mode_t>{S_IFLNK, S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK, S_IFDIR}) {
        EXPECT_TRUE(is_refused(archive_of({.name = "a", .attributes = (kind | 0777U) << 16U})));
    }
    EXPECT_TRUE(is_refused(archive_of({.name = "a", .flags = 1})));       // encrypted
    EXPECT_TRUE(is_refused(archive_of({.name = "a", .method = 12})));     // bzip2
    EXPECT_TRUE(is_refused(archive_of({.name = "d/", .content = "x"})));  // a directory with bytes
}

TEST(ZipReader, RefusesWhatCanBeReadInTwoWays) {
    EXPECT_TRUE(is_refused(archive_of({.name = "a", .local_name = "b"})));
    TestArchive twice;
    twice.add({.name = "a", .content = "1"});
    twice.add({.name = "a", .content = "2"});
    EXPECT_TRUE(is_refused(twice.finish()));
    TestArchive both;
    both.add({.name = "a", .content = "1"});
    both.add({.name = "a/"});
    EXPECT_TRUE(is_refused(both.finish()));
    TestArchive overlapping;
    overlapping.add({.name = "a", .content = "0123456789"});
    overlapping.add({.name = "a", .content = "0123456789", .offset_lie = 0});
    EXPECT_TRUE(is_refused(overlapping.finish()));
    TestArchive plain;
    plain.add({.name = "a", .content = "x"});
    EXPECT_TRUE(is_refused(plain.finish(plain.finish())));  // an end within the comment
    EXPECT_TRUE(is_refused(plain.finish("", 2)));
    EXPECT_TRUE(is_refused(plain.finish("", 0)));
    EXPECT_TRUE(is_refused("prefix" + plain.finish()));
    EXPECT_TRUE(is_refused(plain.finish() + "x"));
    EXPECT_TRUE(is_refused(plain.finish().substr(1)));
    EXPECT_TRUE(is_refused(""));
    EXPECT_TRUE(is_refused(std::string(100, 'x')));
}

TEST(ZipReader, SharedBytesAreRefusedEvenUnderOtherNames) {
    std::string archive = written({{"aa", std::string(1000, 'x')}, {"bb", ""}});
    // Lets the second entry of the list point at the first one's bytes.
    const std::size_t second = archive.rfind("PK\x01\x02");
    archive.replace(second + 42, 4, std::string(4, '\0'));
    EXPECT_TRUE(is_refused(archive));
}

// The bytes of the first entry are the second one, header and all.
TEST(ZipReader, AnEntryInsideOfAnotherIsRefused) {
    TestArchive inner;
    inner.add({.name = "b", .content = "x"});
    const std::string entry = inner.finish().substr(0, 30 + 2);
    TestArchive outer;
    outer.add({.name = "a", .content = entry});
    outer.add({.name = "b", .content = "x", .offset_lie = 30 + 1});
    EXPECT_NE(read(outer.finish()).front().find("share the same bytes"), std::string::npos);
}

TEST(ZipReader, RefusesEntriesThatAreNotWhatTheySay) {
    EXPECT_TRUE(is_refused(archive_of({.name = "a", .content = "x", .checksum_lie = 1})));
    EXPECT_TRUE(is_refused(archive_of({.name = "a", .content = "x", .size_lie = 2})));
    EXPECT_TRUE(is_refused(archive_of({.name = "a", .content = "no deflate", .method = 8})));
    std::string bomb = written({{"a", std::string(1'000'000, '\0')}});
    for (const char* signature : {"PK\x01\x02", "PK\x03\x04"}) {
        const bool central = signature[2] == '\x01';
        const std::size_t at = bomb.find(std::string_view(signature, 4));
        bomb.replace(at + (central ? 24 : 22), 4, std::string("\x10\0\0\0", 4));
    }
    EXPECT_TRUE(is_refused(bomb));  // says 16 bytes
}

TEST(ZipReader, RefusesWhatIsTooMuch) {
    const std::string many = written({{"a", "1"}, {"b", "2"}, {"c", "3"}});
    EXPECT_FALSE(is_refused(many, {.entries = 3}));
    EXPECT_TRUE(is_refused(many, {.entries = 2}));
    EXPECT_TRUE(is_refused(many, {.content = Bytes{2}}));
    const std::string thin = written({{"a", std::string(1'000'000, '\0')}});
    EXPECT_FALSE(is_refused(thin));
    EXPECT_TRUE(is_refused(thin, {.ratio = 100, .unsuspicious = Bytes{1000}}));
}

}  // namespace
}  // namespace belljar::storage
