#include "crypto/digest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace belljar::crypto {
namespace {

TEST(CryptoDigest, GivesTheKnownSha256) {
    EXPECT_EQ(sha256_hex("abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256("abc").size(), 32U);
}

TEST(CryptoDigest, GivesTheSameInPieces) {
    Sha256 digest;
    digest.add("a");
    digest.add("");
    Sha256 moved = std::move(digest);
    moved.add("bc");
    EXPECT_EQ(moved.finish(), sha256_hex("abc"));
}

std::string in_hex(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
        text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    }
    return text;
}

// RFC 4231, test cases 2, 3, 6 and 7: keys shorter and longer than a block.
TEST(CryptoDigest, GivesTheKnownHmac) {
    EXPECT_EQ(in_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(in_hex(hmac_sha256(std::string(20, '\xaa'), std::string(50, '\xdd'))),
              "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    const std::string long_key(131, '\xaa');
    EXPECT_EQ(
        in_hex(hmac_sha256(long_key, "Test Using Larger Than Block-Size Key - Hash Key First")),
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    EXPECT_EQ(in_hex(hmac_sha256(long_key,
                                 "This is a test using a larger than block-size key and a larger "
                                 "than block-size data. The key needs to be hashed before being "
                                 "used by the HMAC algorithm.")),
              "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

}  // namespace
}  // namespace belljar::crypto
