#include "storage/output_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/id.h"

namespace belljar::storage {
namespace {

using execution::OutputStream;

class OutputStoreTest : public testing::Test {
   protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "outputs-XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        place = name;
        data = Fd(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        store = open();
    }
    void TearDown() override { std::filesystem::remove_all(place); }

    std::unique_ptr<OutputStore> open() { return OutputStore::open(data, bounds).value(); }

    // Keeps a run and gives its id.
    std::string keep(std::string_view text, Bytes limit = kibibytes(64)) {
        std::string id = make_uuid();
        OutputRecording recording = store->record({id}, limit);
        recording.append(OutputStream::Stdout, text);
        EXPECT_TRUE(recording.publish().value());
        return id;
    }

    std::string content(const std::string& id, OutputStream stream) {
        const Result<OpenStream> opened = store->open_stream({id}, stream);
        return opened ? read_all(opened->file, mebibytes(64)).value() : "(nothing)";
    }

    std::set<std::string> names() {
        std::set<std::string> found;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(place)) {
            if (entry.path() != place / "outputs") {
                found.insert(std::filesystem::relative(entry.path(), place / "outputs").string());
            }
        }
        return found;
    }

    std::filesystem::path place;
    Fd data;
    OutputStore::Bounds bounds{.runs = 4, .space = kibibytes(64)};
    std::unique_ptr<OutputStore> store;
};

TEST_F(OutputStoreTest, KeepsBothStreamsExactly) {
    const std::string id = make_uuid();
    const std::string bytes("\0\xFF\n", 3);
    {
        OutputRecording recording = store->record({id}, kibibytes(64));
        recording.append(OutputStream::Stdout, "one ");
        recording.append(OutputStream::Stderr, bytes);
        recording.append(OutputStream::Stdout, "");
        recording.append(OutputStream::Stdout, "two");
        EXPECT_TRUE(recording.publish().value());
        EXPECT_FALSE(recording.fault());
    }
    EXPECT_EQ(content(id, OutputStream::Stdout), "one two");
    EXPECT_EQ(content(id, OutputStream::Stderr), bytes);
    const StoredOutput output = store->find({id}).value();
    EXPECT_EQ(output[0]->bytes, 7U);
    EXPECT_FALSE(output[0]->cut);
    EXPECT_EQ(output[1]->bytes, 3U);
    EXPECT_EQ(store->used_bytes(), 10U);
}

TEST_F(OutputStoreTest, IsPrivateToItsOwner) {
    const std::string id = keep("text");
    struct stat status{};
    for (const auto& [path, mode] :
         std::map<std::filesystem::path, mode_t>{{place / "outputs", 0700},
                                                 {place / "outputs" / id, 0700},
                                                 {place / "outputs" / id / "stdout", 0600}}) {
        ASSERT_EQ(::stat(path.c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 07777U, mode) << path;
    }
}

TEST_F(OutputStoreTest, ARunThatKeepsNothingTouchesNoDisk) {
    OutputRecording recording = store->record({make_uuid()}, kibibytes(64));
    EXPECT_FALSE(recording.publish().value());
    recording.append(OutputStream::Stdout, "");
    EXPECT_FALSE(recording.publish().value());
    EXPECT_TRUE(names().empty());
}

TEST_F(OutputStoreTest, NothingIsSeenBeforeItIsPublished) {
    const std::string id = make_uuid();
    {
        OutputRecording recording = store->record({id}, kibibytes(64));
        recording.append(OutputStream::Stdout, "text");
        EXPECT_FALSE(store->find({id}));
        EXPECT_EQ(content(id, OutputStream::Stdout), "(nothing)");
        EXPECT_EQ(store->used_bytes(), 4U);
    }
    EXPECT_TRUE(names().empty());
    EXPECT_EQ(store->used_bytes(), 0U);
}

TEST_F(OutputStoreTest, ARecordingThatMovedIsStillOne) {
    const std::string id = make_uuid();
    {
        OutputRecording first = store->record({id}, kibibytes(64));
        first.append(OutputStream::Stdout, "a");
        OutputRecording second(std::move(first));
        second.append(OutputStream::Stdout, "b");
        EXPECT_TRUE(second.publish().value());
    }
    EXPECT_EQ(content(id, OutputStream::Stdout), "ab");
}

TEST_F(OutputStoreTest, AStreamIsCutAtItsLimit) {
    const std::string id = make_uuid();
    {
        OutputRecording recording = store->record({id}, Bytes{10});
        recording.append(OutputStream::Stdout, "0123456789");
        recording.append(OutputStream::Stderr, "01234567");
        recording.append(OutputStream::Stderr, "89abc");
        recording.append(OutputStream::Stderr, "de");
        EXPECT_TRUE(recording.publish().value());
    }
    EXPECT_EQ(content(id, OutputStream::Stdout), "0123456789");
    EXPECT_EQ(content(id, OutputStream::Stderr), "0123456789");
    EXPECT_FALSE(store->find({id}).value()[0]->cut);
    EXPECT_TRUE(store->find({id}).value()[1]->cut);
    EXPECT_EQ(names(), (std::set<std::string>{id, id + "/stdout", id + "/stderr.cut"}));
}

TEST_F(OutputStoreTest, ALimitOfZeroKeepsNothing) {
    OutputRecording recording = store->record({make_uuid()}, Bytes{0});
    recording.append(OutputStream::Stdout, "text");
    EXPECT_FALSE(recording.publish().value());
    EXPECT_TRUE(names().empty());
}

TEST_F(OutputStoreTest, TheOldestGoesWhenThereAreTooMany) {
    std::vector<std::string> ids;
    for (int count = 0; count < 6; ++count) {
        ids.push_back(keep(std::to_string(count)));
    }
    EXPECT_EQ(content(ids[0], OutputStream::Stdout), "(nothing)");
    EXPECT_EQ(content(ids[1], OutputStream::Stdout), "(nothing)");
    EXPECT_EQ(content(ids[2], OutputStream::Stdout), "2");
    EXPECT_EQ(content(ids[5], OutputStream::Stdout), "5");
    EXPECT_EQ(names().size(), 8U);
    EXPECT_EQ(store->used_bytes(), 4U);
}

TEST_F(OutputStoreTest, TheOldestGoesWhenThereIsTooMuch) {
    const std::string first = keep(std::string(40'000, 'a'));
    const std::string second = keep(std::string(20'000, 'b'));
    const std::string third = keep(std::string(30'000, 'c'));
    EXPECT_FALSE(store->find({first}));
    EXPECT_EQ(content(second, OutputStream::Stdout), std::string(20'000, 'b'));
    EXPECT_EQ(content(third, OutputStream::Stdout), std::string(30'000, 'c'));
    EXPECT_EQ(store->used_bytes(), 50'000U);
}

TEST_F(OutputStoreTest, WhatIsUnfinishedCountsToo) {
    const std::string old = keep("old");
    OutputRecording first = store->record({make_uuid()}, mebibytes(1));
    OutputRecording second = store->record({make_uuid()}, mebibytes(1));
    for (int count = 0; count < 40; ++count) {
        first.append(OutputStream::Stdout, std::string(1024, 'a'));
        second.append(OutputStream::Stdout, std::string(1024, 'b'));
    }
    EXPECT_LE(store->used_bytes(), bounds.space.count);
    EXPECT_EQ(store->used_bytes(), 64 * 1024U);
    EXPECT_FALSE(store->find({old}));
    EXPECT_TRUE(first.publish().value());
    EXPECT_TRUE(second.publish().value());
    EXPECT_EQ(store->used_bytes(), 64 * 1024U);
}

TEST_F(OutputStoreTest, WhatCannotBeKeptRemovesNothing) {
    const std::string old = keep("old");
    OutputRecording recording = store->record({make_uuid()}, mebibytes(1));
    recording.append(OutputStream::Stdout, std::string(65 * 1024, 'x'));
    EXPECT_FALSE(recording.publish().value());
    EXPECT_EQ(content(old, OutputStream::Stdout), "old");
}

TEST_F(OutputStoreTest, OutlivesTheServer) {
    const std::string first = keep("first");
    const std::string second = keep("a long second", Bytes{6});
    store = open();
    EXPECT_EQ(content(first, OutputStream::Stdout), "first");
    EXPECT_EQ(content(second, OutputStream::Stdout), "a long");
    EXPECT_TRUE(store->find({second}).value()[0]->cut);
    EXPECT_FALSE(store->find({first}).value()[0]->cut);
    EXPECT_EQ(store->used_bytes(), 11U);
}

TEST_F(OutputStoreTest, TheAgeOutlivesTheServer) {
    std::vector<std::string> ids;
    for (int count = 0; count < 4; ++count) {
        ids.push_back(keep("text"));
        const std::filesystem::path run = place / "outputs" / ids.back();
        std::filesystem::last_write_time(
            run, std::filesystem::file_time_type::clock::now() - std::chrono::hours(10 - count));
    }
    bounds.runs = 2;
    store = open();
    EXPECT_FALSE(store->find({ids[0]}));
    EXPECT_FALSE(store->find({ids[1]}));
    EXPECT_TRUE(store->find({ids[2]}));
    EXPECT_TRUE(store->find({ids[3]}));
    bounds = {.runs = 4, .space = Bytes{4}};
    store = open();
    EXPECT_FALSE(store->find({ids[2]}));
    EXPECT_TRUE(store->find({ids[3]}));
    EXPECT_EQ(names().size(), 2U);
}

TEST_F(OutputStoreTest, WhatACrashLeftIsRemovedAtTheNextStart) {
    const std::string id = keep("kept");
    const std::filesystem::path left = place / "outputs" / ("unfinished-" + make_uuid());
    std::filesystem::create_directory(left);
    std::ofstream(left / "stdout") << "half";
    store = open();
    EXPECT_EQ(names(), (std::set<std::string>{id, id + "/stdout"}));
}

TEST_F(OutputStoreTest, WhatIsNotOursIsLeftAlone) {
    std::filesystem::create_directory(place / "outputs" / "notes");
    std::ofstream(place / "outputs" / "file") << "text";
    std::filesystem::create_directory_symlink("/etc", place / "outputs" / make_uuid());
    const std::size_t before = names().size();
    store = open();
    EXPECT_EQ(names().size(), before);
    EXPECT_EQ(store->used_bytes(), 0U);
}

TEST_F(OutputStoreTest, ALinkIsNeverFollowed) {
    const std::string id = make_uuid();
    std::filesystem::create_directory(place / "outputs" / id);
    std::filesystem::create_symlink("/etc/passwd", place / "outputs" / id / "stdout");
    store = open();
    EXPECT_FALSE(store->find({id}).value()[0]);
    EXPECT_EQ(content(id, OutputStream::Stdout), "(nothing)");
    const std::string real = keep("text");
    std::filesystem::remove(place / "outputs" / real / "stdout");
    std::filesystem::create_symlink("/etc/passwd", place / "outputs" / real / "stdout");
    EXPECT_EQ(content(real, OutputStream::Stdout), "(nothing)");
    std::filesystem::remove_all(place / "outputs");
    std::filesystem::create_directory_symlink("/etc", place / "outputs");
    EXPECT_FALSE(OutputStore::open(data, bounds));
}

TEST_F(OutputStoreTest, KnowsOnlyItsOwnNames) {
    const std::string id = keep("text");
    std::ofstream(place / "secret") << "secret";
    for (const std::string& name :
         {std::string(), std::string("."), std::string(".."), std::string("../secret"), id + "/",
          "./" + id, id + "/stdout", "unfinished-" + id, std::string(36, 'x'),
          std::string(100'000, '/'), id + '\0', make_uuid()}) {
        EXPECT_FALSE(store->find({name})) << name.substr(0, 50);
        const Result<OpenStream> opened = store->open_stream({name}, OutputStream::Stdout);
        ASSERT_FALSE(opened);
        EXPECT_EQ(opened.error().code, ErrorCode::NotFound);
    }
    EXPECT_FALSE(store->open_stream({id}, OutputStream::Stderr));
}

TEST_F(OutputStoreTest, AFaultEndsTheKeepingOnly) {
    OutputRecording recording = store->record({make_uuid()}, kibibytes(64));
    std::filesystem::remove_all(place / "outputs");
    recording.append(OutputStream::Stdout, "text");
    recording.append(OutputStream::Stdout, "more");
    ASSERT_TRUE(recording.fault());
    EXPECT_EQ(recording.fault()->sys_errno, ENOENT);
    EXPECT_FALSE(recording.publish().value());
    EXPECT_EQ(store->used_bytes(), 0U);
}

TEST_F(OutputStoreTest, AStreamThatWasGoneIsAnError) {
    const std::string id = keep("text");
    std::filesystem::remove(place / "outputs" / id / "stdout");
    EXPECT_FALSE(store->open_stream({id}, OutputStream::Stdout));
}

TEST_F(OutputStoreTest, ADirectoryThatWasThereKeepsItsOwner) {
    EXPECT_TRUE(store->give_to(::geteuid(), ::getegid()));
    store = open();
    EXPECT_TRUE(store->give_to(::geteuid(), ::getegid()));
    const Result<void> given = store->give_to(::geteuid() + 1, ::getegid());
    ASSERT_FALSE(given);
    EXPECT_EQ(given.error().code, ErrorCode::Denied);
}

TEST_F(OutputStoreTest, WhatBelongsToSomebodyElseDoesNotExist) {
    const std::string id = make_uuid();
    {
        OutputRecording recording = store->record({id, "alice"}, kibibytes(64));
        recording.append(OutputStream::Stdout, "hers");
        ASSERT_TRUE(recording.publish().value());
    }
    const auto check = [this, &id] {
        EXPECT_TRUE(store->find({id, "alice"}));
        EXPECT_TRUE(store->open_stream({id, "alice"}, OutputStream::Stdout));
        EXPECT_EQ(store->list("alice"), std::vector<std::string>{id});
        for (const char* other : {"", "bob", "Alice", "alice "}) {
            EXPECT_FALSE(store->find({id, other}));
            EXPECT_EQ(store->open_stream({id, other}, OutputStream::Stdout).error().code,
                      ErrorCode::NotFound);
            EXPECT_TRUE(store->list(other).empty());
        }
    };
    check();
    store.reset();
    store = open();
    check();
}

}  // namespace
}  // namespace belljar::storage
