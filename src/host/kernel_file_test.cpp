#include "host/kernel_file.h"

#include <gtest/gtest.h>

namespace belljar::host {
namespace {

TEST(HostKernelFile, SplitsWordsAndLines) {
    EXPECT_EQ(words_of(" nodev\toverlay\n\text4 \n"),
              (std::vector<std::string>{"nodev", "overlay", "ext4"}));
    EXPECT_TRUE(words_of(" \n\t").empty());
    EXPECT_EQ(lines_of("a\n\nb"), (std::vector<std::string_view>{"a", "", "b"}));
    EXPECT_EQ(lines_of("a\n"), (std::vector<std::string_view>{"a"}));
    EXPECT_TRUE(lines_of("").empty());
}

TEST(HostKernelFile, TakesANumberOnlyWhole) {
    EXPECT_EQ(number_of("96343"), 96343);
    EXPECT_EQ(number_of("-1"), -1);
    EXPECT_EQ(number_of("12 "), std::nullopt);
    EXPECT_EQ(number_of("max"), std::nullopt);
    EXPECT_EQ(number_of(""), std::nullopt);
}

TEST(HostKernelFile, ReadsWhatIsThere) {
    EXPECT_EQ(read_value("/proc/sys/kernel/ostype"), "Linux");
    EXPECT_GT(read_number("/proc/sys/kernel/pid_max").value_or(0), 0);
    EXPECT_EQ(read_text("/proc/no/such/file"), std::nullopt);
    EXPECT_EQ(read_number("/proc/sys/kernel/ostype"), std::nullopt);
}

}  // namespace
}  // namespace belljar::host
