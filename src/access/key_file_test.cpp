#include "access/key_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/id.h"

namespace belljar::access {
namespace {

namespace fs = std::filesystem;

// The example of RFC 7517, appendix A.1.
constexpr std::string_view kKeys =
    R"({"keys":[{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",)"
    R"("y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","kid":"1"}]})";

class KeyFileTest : public testing::Test {
   protected:
    void TearDown() override { fs::remove(path); }
    void write(std::string_view text) const { std::ofstream(path) << text; }

    fs::path path = fs::temp_directory_path() / ("belljar-test-" + random_hex(8));
    Log log{"test", LogLevel::Error};
};

TEST_F(KeyFileTest, HoldsTheKeysOfTheFile) {
    write(kKeys);
    const std::unique_ptr<KeyFile> file = KeyFile::open(path.string(), log).value();
    EXPECT_NE(file->keys().find("1", Algorithm::Es256), nullptr);
    EXPECT_EQ(file->keys().find("2", Algorithm::Es256), nullptr);
    EXPECT_FALSE(file->ask_for_newer());
}

TEST_F(KeyFileTest, IsNotOpenedWithoutKeys) {
    EXPECT_FALSE(KeyFile::open(path.string(), log));
    write("{}");
    EXPECT_FALSE(KeyFile::open(path.string(), log));
}

}  // namespace
}  // namespace belljar::access
