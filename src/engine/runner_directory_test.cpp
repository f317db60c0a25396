#include "engine/runner_directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

namespace belljar::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAwk =
    "language = \"awk\"\nversion = [\"/usr/bin/mawk\", \"-W\", \"version\"]\nfile = \"main.awk\"\n"
    "command = [\"/usr/bin/mawk\", \"-f\", \"{file}\"]\n";

class RunnerDirectoryTest : public testing::Test {
   protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "runner-directory-test-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        place = name;
    }
    void TearDown() override { fs::remove_all(place); }

    void write(const std::string& name, std::string_view text, mode_t mode = 0644) {
        fs::create_directories(path());
        std::ofstream(path() / name) << text;
        ASSERT_EQ(::chmod((path() / name).c_str(), mode), 0);
    }

    fs::path path() const { return place / "runners.d"; }

    // Until something holds, while the directory is watched.
    template <typename Condition>
    [[nodiscard]] bool becomes(Condition condition) {
        const TimePoint deadline = Clock::now() + std::chrono::seconds(10);
        while (!condition() && Clock::now() < deadline) {
            context.restart();
            context.run_one_for(std::chrono::milliseconds(20));
        }
        return condition();
    }

    fs::path place;
    asio::io_context context;
    Log log{"test", LogLevel::Error};
    runner::Runners shipped = runner::Runners::create().value();
    std::optional<RunnerDirectory> directory;

    RunnerDirectory& make() {
        return directory.emplace(context.get_executor(), path(), shipped, log);
    }
};

TEST_F(RunnerDirectoryTest, NeedNotExist) {
    EXPECT_EQ(make().read().all(), shipped.all());
    RunnerDirectory none(context.get_executor(), "", shipped, log);
    EXPECT_EQ(none.read().all(), shipped.all());
}

TEST_F(RunnerDirectoryTest, AddsAndReplaces) {
    write("awk.toml", kAwk);
    write("ruby.toml",
          "language = \"ruby\"\nself_test = \"test.rb\"\nfile = \"a.rb\"\n"
          "command = [\"/opt/ruby\", \"{file}\"]\n");
    write("test.rb", "puts 1");
    write("README", "not a manifest");
    write(".awk.toml.swp", "nor this");
    const runner::Runners runners = make().read();
    EXPECT_EQ(runners.find("awk")->file, "main.awk");
    EXPECT_EQ(runners.find("ruby")->command.front(), "/opt/ruby");
    EXPECT_EQ(runners.find("ruby")->self_test, "puts 1");
    EXPECT_EQ(runners.all().size(), shipped.all().size() + 1);
}

TEST_F(RunnerDirectoryTest, WhatStaysTheSameIsTheSame) {
    write("awk.toml", kAwk);
    const runner::ManifestPtr before = make().read().find("awk");
    write("awk.toml", "# a comment\n" + std::string(kAwk));
    EXPECT_EQ(directory->read().find("awk"), before);
}

TEST_F(RunnerDirectoryTest, ABrokenFileLeavesWhatWasBefore) {
    write("broken.toml", "language = ");
    write("awk.toml", kAwk);
    const runner::ManifestPtr before = make().read().find("awk");
    for (const std::string_view text :
         {"", "language = 1", "language = \"python\"", "\xff", "language = \"rb\"\n"}) {
        write("awk.toml", text);
        EXPECT_EQ(directory->read().find("awk"), before) << text;
    }
    std::string other(kAwk);
    write("awk.toml", other.replace(other.find("awk"), 3, "py"));
    EXPECT_EQ(directory->read().find("awk"), before) << "a name of another";
    fs::remove(path() / "awk.toml");
    EXPECT_EQ(directory->read().find("awk"), nullptr);
}

TEST_F(RunnerDirectoryTest, OnlyWhatNobodyElseCouldHaveWritten) {
    for (const mode_t mode : {0664U, 0646U, 0666U}) {
        write("awk.toml", kAwk, mode);
        EXPECT_EQ(make().read().find("awk"), nullptr) << mode;
    }
    write("awk.toml", kAwk, 0600);
    EXPECT_NE(make().read().find("awk"), nullptr);
    write("awk.toml", kAwk, 0622);
    EXPECT_EQ(directory->read().find("awk"), nullptr) << "it was good, and may no longer be";
    write("awk.toml", kAwk, 0644);
    ASSERT_EQ(::chmod(path().c_str(), 0777), 0);
    EXPECT_EQ(make().read().find("awk"), nullptr);
    ASSERT_EQ(::chmod(path().c_str(), 0755), 0);
    if (::geteuid() == 0) {
        ASSERT_EQ(::chown((path() / "awk.toml").c_str(), 12345, 12345), 0);
        EXPECT_EQ(make().read().find("awk"), nullptr);
    }
}

TEST_F(RunnerDirectoryTest, ReadsNothingButFiles) {
    write("real", kAwk);
    fs::create_symlink("real", path() / "link.toml");
    fs::create_directory(path() / "directory.toml");
    ASSERT_EQ(::mkfifo((path() / "pipe.toml").c_str(), 0600), 0);
    write("large.toml", std::string(100'000, '#'));
    write("program.toml",
          "language = \"x\"\nself_test = \"../real\"\nfile = \"x\"\n"
          "command = [\"/bin/x\"]\n");
    EXPECT_EQ(make().read().all(), shipped.all());
}

TEST_F(RunnerDirectoryTest, TellsOfChanges) {
    std::vector<runner::Runners> seen;
    asio::co_spawn(
        context, make().watch([&](runner::Runners runners) { seen.push_back(std::move(runners)); }),
        [](const std::exception_ptr& failure) { EXPECT_FALSE(failure); });
    write("awk.toml", kAwk);
    ASSERT_TRUE(becomes([&] { return seen.size() == 1; })) << "also in a new directory";
    EXPECT_NE(seen.back().find("awk"), nullptr);
    write("awk.toml", std::string(kAwk) + "aliases = [\"mawk\"]\n");
    ASSERT_TRUE(becomes([&] { return seen.size() == 2; }));
    EXPECT_NE(seen.back().find("mawk"), nullptr);
    fs::remove_all(path());
    ASSERT_TRUE(becomes([&] { return seen.size() == 3; }));
    EXPECT_EQ(seen.back().all(), shipped.all());
    write("awk.toml", kAwk);
    ASSERT_TRUE(becomes([&] { return seen.size() == 4; }));
    directory->stop();
    context.restart();
    context.run_for(std::chrono::seconds(5));
    EXPECT_TRUE(context.stopped());
}

}  // namespace
}  // namespace belljar::engine
