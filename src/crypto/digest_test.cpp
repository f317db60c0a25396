#include "crypto/digest.h"

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

// RFC 4231, test case 2.
TEST(CryptoDigest, GivesTheKnownHmac) {
    const std::string mac = hmac_sha256("Jefe", "what do ya want for nothing?");
    EXPECT_EQ(static_cast<unsigned char>(mac[0]), 0x5bU);
    EXPECT_EQ(static_cast<unsigned char>(mac[31]), 0x43U);
    EXPECT_NE(hmac_sha256("Jefe", "what do ya want for something?"), mac);
}

}  // namespace
}  // namespace belljar::crypto
