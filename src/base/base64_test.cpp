#include "base/base64.h"

#include <gtest/gtest.h>

#include <array>

namespace belljar {
namespace {

struct Pair {
    std::string_view data;
    std::string_view text;
};

// RFC 4648 section 10.
constexpr std::array<Pair, 7> kVectors{{{"", ""},
                                        {"f", "Zg=="},
                                        {"fo", "Zm8="},
                                        {"foo", "Zm9v"},
                                        {"foob", "Zm9vYg=="},
                                        {"fooba", "Zm9vYmE="},
                                        {"foobar", "Zm9vYmFy"}}};

TEST(Base64, AgreesWithTheVectorsOfTheStandard) {
    for (const Pair& pair : kVectors) {
        EXPECT_EQ(encode_base64(pair.data), pair.text);
        EXPECT_EQ(decode_base64(pair.text).value(), pair.data);
    }
}

TEST(Base64, CarriesEveryByte) {
    std::string data;
    for (unsigned byte = 0; byte < 256; ++byte) {
        data += static_cast<char>(byte);
        EXPECT_EQ(decode_base64(encode_base64(data)).value(), data);
    }
    EXPECT_EQ(encode_base64("\xFB\xFF\xFE"), "+//+");
}

TEST(DecodeBase64, RefusesEveryOtherForm) {
    for (const std::string_view text : {"Z",        "Zg",       "Zg=",    "Zm8",    "Zm9vY", "=",
                                        "==",       "===",      "====",   "Z===",   "=Zg=",  "Z=g=",
                                        "Zg==Zg==", "Zm8=Zm8=", "-__-",   "Zm9v\n", "Zm9 ",  " Zm9",
                                        "Zm\t=",    "Zm9v====", "Zm9\xC3"}) {
        const Result<std::string> data = decode_base64(text);
        ASSERT_FALSE(data) << text;
        EXPECT_EQ(data.error().code, ErrorCode::InvalidArgument) << text;
    }
    EXPECT_FALSE(decode_base64(std::string_view("Zm\0v", 4)));
}

TEST(DecodeBase64, RefusesBitsThatNoEncoderWrites) {
    EXPECT_FALSE(decode_base64("Zh=="));
    EXPECT_FALSE(decode_base64("Zm9="));
    EXPECT_FALSE(decode_base64("//=="));
    EXPECT_TRUE(decode_base64("/w=="));
}

TEST(Base64Url, HasItsOwnAlphabetAndNoPadding) {
    EXPECT_EQ(decode_base64url("").value(), "");
    EXPECT_EQ(decode_base64url("Zg").value(), "f");
    EXPECT_EQ(decode_base64url("Zm8").value(), "fo");
    EXPECT_EQ(decode_base64url("Zm9v").value(), "foo");
    EXPECT_EQ(decode_base64url("-_-_").value(), "\xFB\xFF\xBF");
    for (const std::string_view text :
         {"Z", "Zg==", "Zm8=", "+/+/", "Zh", "Zm9v Zm9v", "Zm9v\n", "Z!", "\xC3\xA4"}) {
        EXPECT_FALSE(decode_base64url(text)) << text;
    }
}

}  // namespace
}  // namespace belljar
