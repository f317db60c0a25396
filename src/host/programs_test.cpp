#include "host/programs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace belljar::host {
namespace {

class HostPrograms : public ::testing::Test {
   protected:
    void SetUp() override {
        std::string pattern = ::testing::TempDir() + "programs-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        directory_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    void make(const std::string& name, mode_t mode) const {
        const std::string path = directory_ + "/" + name;
        std::ofstream(path) << "#!/bin/sh\n";
        ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    }

    std::string directory_;
};

TEST_F(HostPrograms, FindsTheFirst) {
    make("runner", 0755);
    EXPECT_EQ(find_program("runner", "/no/such/directory:" + directory_), directory_ + "/runner");
    EXPECT_EQ(find_program("other", directory_), "");
    EXPECT_EQ(find_program("runner", ""), "");
}

TEST_F(HostPrograms, PassesOverWhatCannotBeRun) {
    make("text", 0644);
    std::filesystem::create_directory(directory_ + "/folder");
    EXPECT_EQ(find_program("text", directory_), "");
    EXPECT_EQ(find_program("folder", directory_), "");
}

TEST_F(HostPrograms, NeverLooksIntoTheWorkingDirectory) {
    make("runner", 0755);
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(directory_);
    EXPECT_EQ(find_program("runner", "::.:"), "");
    std::filesystem::current_path(before);
}

}  // namespace
}  // namespace belljar::host
