#include "storage/session_register.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace belljar::storage {
namespace {

constexpr const char* kId = "0a1b2c3d-0000-4000-8000-000000000001";

class SessionRegisterTest : public testing::Test {
   protected:
    SessionRegisterTest() {
        std::string name = testing::TempDir() + "sessions-XXXXXX";
        place = ::mkdtemp(name.data());
        directory = Fd(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    ~SessionRegisterTest() override { std::filesystem::remove_all(place); }

    std::unique_ptr<SessionRegister> open() { return SessionRegister::open(directory).value(); }

    std::filesystem::path place;
    Fd directory;
};

TEST_F(SessionRegisterTest, ASuccessorFindsWhatWasThere) {
    const auto first = open();
    EXPECT_TRUE(first->found().empty());
    ASSERT_TRUE(first->add({.session_id = kId, .principal = "one"}));
    const auto second = open();
    ASSERT_EQ(second->found().size(), 1U);
    EXPECT_EQ(second->found().front().session_id, kId);
    EXPECT_EQ(second->found().front().principal, "one");
}

TEST_F(SessionRegisterTest, WhatEndedIsNotFound) {
    const auto first = open();
    ASSERT_TRUE(first->add({.session_id = kId, .principal = ""}));
    first->remove(kId);
    EXPECT_TRUE(open()->found().empty());
    EXPECT_TRUE(std::filesystem::is_empty(place / "sessions"));
}

TEST_F(SessionRegisterTest, OnlyOurOwnNamesCount) {
    const auto first = open();
    std::ofstream(place / "sessions" / "note.txt") << "mine";
    std::filesystem::create_symlink("/etc/passwd", place / "sessions" / kId);
    EXPECT_TRUE(open()->found().empty());
    EXPECT_TRUE(std::filesystem::exists(place / "sessions" / "note.txt"));
    EXPECT_FALSE(first->add({.session_id = kId, .principal = "one"}));
}

TEST_F(SessionRegisterTest, OldOnesAreForgotten) {
    const auto first = open();
    ASSERT_TRUE(first->add({.session_id = kId, .principal = "one"}));
    const auto file = place / "sessions" / kId;
    std::filesystem::last_write_time(
        file, std::filesystem::file_time_type::clock::now() - std::chrono::hours(25));
    EXPECT_TRUE(open()->found().empty());
    EXPECT_FALSE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace belljar::storage
