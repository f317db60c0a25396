#include "policy/import_profiles.h"

#include <gtest/gtest.h>

namespace belljar::policy {
namespace {

bool allowed(std::string_view profile, std::string_view module) {
    return allows_import(*find_import_profile(profile).value(), module);
}

TEST(ImportProfiles, BasicIsValuesAndText) {
    for (const char* module : {"math", "json", "collections", "collections.abc", "html.parser",
                               "xml.etree.ElementTree", "urllib.parse", "datetime"}) {
        EXPECT_TRUE(allowed("basic", module)) << module;
    }
    for (const char* module : {"os", "sys", "subprocess", "html", "urllib", "urllib.request",
                               "urllib.parser", "xml", "mathematics", "numpy", "pathlib", ""}) {
        EXPECT_FALSE(allowed("basic", module)) << module;
    }
}

TEST(ImportProfiles, OthersAddToBasic) {
    EXPECT_TRUE(allowed("data_science", "numpy.linalg"));
    EXPECT_TRUE(allowed("data_science", "math"));
    EXPECT_FALSE(allowed("data_science", "requests"));
    EXPECT_TRUE(allowed("network", "urllib.request"));
    EXPECT_TRUE(allowed("filesystem", "os.path"));
    EXPECT_FALSE(allowed("filesystem", "os"));
}

TEST(ImportProfiles, StandardRefusesNothing) { EXPECT_TRUE(allowed("standard", "os")); }

TEST(ImportProfiles, AnUnknownOneNamesTheKnown) {
    EXPECT_EQ(find_import_profile("x").error().message,
              "there is no such profile; the profiles are standard, basic, data_science, network, "
              "filesystem");
}

TEST(ImportProfiles, NodeModulesThatTouchNothing) {
    const ImportProfile& basic = *find_import_profile("basic").value();
    EXPECT_TRUE(allows_node_import(basic, "node:path"));
    EXPECT_TRUE(allows_node_import(basic, "util/types"));
    EXPECT_FALSE(allows_node_import(basic, "node:fs/promises"));
    EXPECT_FALSE(allows_node_import(basic, "child_process"));
    EXPECT_TRUE(allows_node_import(*find_import_profile("standard").value(), "fs"));
}

}  // namespace
}  // namespace belljar::policy
