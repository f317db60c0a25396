#include "engine/detection.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace belljar::engine {
namespace {

namespace fs = std::filesystem;

TEST(Detection, FindsTheFirstThatIsThere) {
    const Detection host("");
    const runner::Manifest shell{.language = "sh", .detect = {"/no/such", "/bin/sh", "/bin/true"}};
    EXPECT_EQ(host.find(shell).value(), "/bin/sh");
}

TEST(Detection, SaysWhatIsNotThere) {
    const Detection host("");
    EXPECT_EQ(host.find({.language = "x", .detect = {"/no/x", "/no/y"}}).error().message,
              "x is not installed: none of /no/x, /no/y exists");
    EXPECT_EQ(host.find({.language = "x", .detect = {"/no/x"}}).error().message,
              "x is not installed: no /no/x exists");
    EXPECT_FALSE(host.find({.language = "x", .detect = {"/etc/passwd"}})) << "not a program";
    EXPECT_FALSE(host.find({.language = "x", .detect = {"/usr/bin"}})) << "a directory";
}

TEST(Detection, LooksInTheRootOfJars) {
    std::string name = testing::TempDir() + "detection-test-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    fs::create_directories(fs::path(name) / "usr/bin");
    std::ofstream(fs::path(name) / "usr/bin/real") << "#!/bin/sh\n";
    ASSERT_EQ(::chmod((name + "/usr/bin/real").c_str(), 0755), 0);
    fs::create_symlink("/usr/bin/real", fs::path(name) / "usr/bin/link");
    fs::create_symlink("/bin/sh", fs::path(name) / "usr/bin/out");
    const Detection root(name);
    EXPECT_TRUE(root.find({.language = "x", .detect = {"/usr/bin/link"}}));
    EXPECT_FALSE(root.find({.language = "x", .detect = {"/usr/bin/out"}}));
    EXPECT_FALSE(root.find({.language = "x", .detect = {"/bin/sh"}}));
    fs::remove_all(name);
}

TEST(Detection, AnImageIsTakenAtItsWord) {
    const Detection image("/bin/sh");  // a file
    EXPECT_EQ(image.find({.language = "x", .detect = {"/no/x"}}).value(), "/no/x");
}

}  // namespace
}  // namespace belljar::engine
