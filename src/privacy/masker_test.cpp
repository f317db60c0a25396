#include "privacy/masker.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace belljar::privacy {
namespace {

const TypeSet kAll = TypeSet().set();

std::string masked(std::string_view text, TypeSet types = kAll) {
    Counts counts{};
    return mask(text, types, counts);
}

TypeSet only(Type type) { return TypeSet().set(index_of(type)); }

constexpr std::string_view kGolden =
    "User john@example.com at 192.168.1.1 called 123-456-7890 ssn 123-45-6789 cc "
    "4532-1234-5678-9010";

TEST(Masker, MasksTheGoldenLine) {
    EXPECT_EQ(masked(kGolden),
              "User [EMAIL_REDACTED] at [IP_REDACTED] called [PHONE_REDACTED] ssn [SSN_REDACTED] "
              "cc [CC_REDACTED]");
}

TEST(Masker, FindsEachForm) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"<jürgen.müller+x@mail.example.co.uk>", "<[EMAIL_REDACTED]>"},
        {"'o.neil@example.com.'", "'[EMAIL_REDACTED].'"},
        {"?to=ann%40example.com&x=1", "?to=[EMAIL_REDACTED]&x=1"},
        {"ann@163.com,bob@xn--bcher-kva.xn--p1ai", "[EMAIL_REDACTED],[EMAIL_REDACTED]"},
        {"4111111111111111", "[CC_REDACTED]"},
        {"378282246310005 3782 822463 10005", "[CC_REDACTED] [CC_REDACTED]"},
        {"cvv 123 4111 1111 1111 1111 12/27", "cvv 123 [CC_REDACTED] 12/27"},
        {"30569309025904 6011-1111-1111-1117", "[CC_REDACTED] [CC_REDACTED]"},
        {"SSN: 123456789, ssn 123 45 6789", "SSN: [SSN_REDACTED], ssn [SSN_REDACTED]"},
        {"2001:db8::1, ::ffff:10.0.0.1 [fe80::1%eth0]:443",
         "[IP_REDACTED], [IP_REDACTED] [[IP_REDACTED]]:443"},
        {"http://10.0.0.1:80/ 10.0.0.1-10.0.0.9.",
         "http://[IP_REDACTED]:80/ [IP_REDACTED]-[IP_REDACTED]."},
        {"aa:bb:cc:dd:ee:ff 00-1A-2b-3c-4D-5E", "[MAC_REDACTED] [MAC_REDACTED]"},
        {"DE89 3704 0044 0532 0130 00, GB82WEST12345698765432.",
         "[IBAN_REDACTED], [IBAN_REDACTED]."},
        {"(555) 123-4567, 1-555-123-4567x89, 555.123.4567",
         "[PHONE_REDACTED], [PHONE_REDACTED]x89, [PHONE_REDACTED]"},
        {"+49 30 1234567|+1 (555) 123-4567|+33 1 23 45 67 89|+442079460958",
         "[PHONE_REDACTED]|[PHONE_REDACTED]|[PHONE_REDACTED]|[PHONE_REDACTED]"},
        {"\"phone\": \"4155550123\" tel. 030/123456, home_phone=020 7946 0958",
         "\"phone\": \"[PHONE_REDACTED]\" tel. [PHONE_REDACTED], home_phone=[PHONE_REDACTED]"},
        {"0044 20 7946 0958", "[PHONE_REDACTED]"},
        {"ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[KEY_REDACTED]"},
        {"key AKIAIOSFODNN7EXAMPLE!", "key [KEY_REDACTED]!"},
        {"Authorization: Bearer abcdefghij0123456789abcdefghij==",
         "Authorization: Bearer [KEY_REDACTED]"},
        {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N_Xg and",
         "[KEY_REDACTED] and"}};
    for (const auto& [text, expected] : cases) {
        EXPECT_EQ(masked(text), expected) << text;
    }
}

TEST(Masker, LeavesAloneWhatOnlyLooksLikeIt) {
    const std::vector<std::string> decoys{
        "at 12:34:56 on 2024-01-02T03:04:05.678+02:00",
        "999.1.1.1 std::vector a[1::2] x[::-1] fe::be",
        "version 1.2.3.4 v10.0.0.1 Chrome/120.0.0.0 pip==1.2.3.4 tool-1.2.3.4 1.3.6.1.4.1",
        "550e8400-e29b-41d4-a716-446655440000 12345678-1234-1234-1234-123456789012",
        "d41d8cd98f00b204e9800998ecf8427e 4111111111111112 0.4111111111111111",
        "1700000000 1700000000123 order 4155550123 #555-123-4567 $555-123-4567",
        "512 256 1024 and 4096 2048 1024 5120",
        "icon@2x.png git@github.com:a/b.git pkg@1.2.3-beta.rc user@localhost @app.route",
        "called 2024-01-02 and call 12:30",
        "000-12-3456 666-12-3456 912-12-3456 123-00-4567 123-45-0000 123-45-67890",
        "DE89370400440532013001 AB12345678901234567890",
        "sk-estimator-doc-link-container-long-name token: string_of_a_certain_length",
        "00:11:22:33:44:55:66:77 aa:bb:cc:dd:ee:ff:00"};
    for (const std::string& text : decoys) {
        EXPECT_EQ(masked(text), text);
    }
}

TEST(Masker, LooksOnlyForWhatIsAskedFor) {
    EXPECT_EQ(masked(kGolden, only(Type::Ssn)),
              "User john@example.com at 192.168.1.1 called 123-456-7890 ssn [SSN_REDACTED] cc "
              "4532-1234-5678-9010");
    EXPECT_EQ(masked(kGolden, {}), kGolden);
    EXPECT_EQ(masked("4532123456789010 10.0.0.1", only(Type::Phone)), "4532123456789010 10.0.0.1");
}

TEST(Masker, CountsAndDoesNotKeep) {
    Masker masker(kAll);
    std::string out = masker.feed("a@b.de c@d.fr 10.0.0.1 ");
    out += masker.finish();
    execution::MaskCounts counts;
    add_counts(masker.counts(), counts);
    EXPECT_EQ(counts, (execution::MaskCounts{{"email", 2}, {"ip_address", 1}}));
    EXPECT_EQ(masker.held(), 0U);
}

TEST(Masker, IsNotFooledByPieces) {
    const std::string text = std::string(kGolden) +
                             " eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc tel. 030/123456 é@é.de "
                             "DE89 3704 0044 0532 0130 00 \xff\xc3 fe80::1%eth0\n\0x";
    const std::string whole = masked(text);
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        Masker masker(kAll);
        std::string out = masker.feed(std::string_view(text).substr(0, cut));
        out += masker.feed(std::string_view(text).substr(cut));
        EXPECT_EQ(out + masker.finish(), whole) << cut;
    }
    Masker masker(kAll);
    std::string out;
    for (const char byte : text) {
        out += masker.feed(std::string_view(&byte, 1));
    }
    EXPECT_EQ(out + masker.finish(), whole);
}

TEST(Masker, IsNotFooledByPiecesOfRandomText) {
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::vector<std::string> parts{"a",
                                         "1",
                                         "4111",
                                         "555",
                                         "10",
                                         "@",
                                         ".",
                                         "-",
                                         " ",
                                         ":",
                                         "::",
                                         "+",
                                         "(",
                                         ")",
                                         "%40",
                                         "com",
                                         "phone",
                                         "DE89",
                                         "eyJabcdefghijk",
                                         "sk-",
                                         "x",
                                         "é",
                                         "\xc3",
                                         "fe80",
                                         "\n",
                                         "=",
                                         "_",
                                         "0"};
    for (int round = 0; round < 2000; ++round) {
        std::string text;
        for (int count = 0; count < 40; ++count) {
            text += parts.at(random() % parts.size());
        }
        const std::string whole = masked(text);
        Masker masker(kAll);
        std::string out;
        for (std::size_t place = 0; place < text.size();) {
            const std::size_t length = 1 + random() % 9;
            out += masker.feed(std::string_view(text).substr(place, length));
            place += length;
        }
        ASSERT_EQ(out + masker.finish(), whole) << text;
    }
}

// The part before an encoded @ is counted from its first byte.
TEST(Masker, IsNotFooledByPiecesOfAnEncodedSign) {
    std::string text;
    for (int count = 0; count < 40; ++count) {
        text += "%40a.";
    }
    text += "bc!";
    Masker masker(kAll);
    std::string out;
    for (const char byte : text) {
        out += masker.feed(std::string_view(&byte, 1));
    }
    EXPECT_EQ(out + masker.finish(), masked(text));
}

TEST(Masker, HoldsBackOnlyWhatCouldBecomeAValue) {
    Masker masker(kAll);
    EXPECT_EQ(masker.feed("done.\n"), "done.\n");
    EXPECT_EQ(masker.feed("wait for john"), "wait for ");
    EXPECT_EQ(masker.feed("@example.c"), "");
    EXPECT_EQ(masker.feed("om!"), "[EMAIL_REDACTED]!");
    EXPECT_EQ(masker.finish(), "");
}

TEST(Masker, HoldsBackABoundedPartOfAnything) {
    for (const std::string part : {"x", "1", "a@", "a.", "1-", "1 ", "4111 ", "eyJ", "é",
                                   "::", "%40", "a%40a.", "sk-A1", "+1 ", "(", "\xff", "\xc3"}) {
        Masker masker(kAll);
        std::size_t most = 0;
        for (int count = 0; count < 5000; ++count) {
            [[maybe_unused]] const std::string out = masker.feed(part);
            most = std::max(most, masker.held());
        }
        EXPECT_LE(most, Masker::kMostHeld) << part;
    }
}

TEST(Masker, SwallowsKeysOfAnyLength) {
    Masker masker(kAll);
    std::string out = masker.feed("key sk-A1b2C3d4E5f6G7h8I9j0");
    for (int count = 0; count < 10000; ++count) {
        out += masker.feed("A1b2C3d4E5f6");
    }
    out += masker.feed("; next");
    EXPECT_EQ(out + masker.finish(), "key [KEY_REDACTED]; next");
}

TEST(Masker, KeepsPlacesWithStars) {
    Masker masker(kAll, Fill::Stars);
    std::string out = masker.feed("to a@b.de, 10.0.0.1, ghp_abcdefghijklmnopqrstuvwxyz0123456789;");
    EXPECT_EQ(out + masker.finish(), "to " + std::string(6, '*') + ", " + std::string(8, '*') +
                                         ", " + std::string(40, '*') + ";");
}

TEST(Masker, HearsWhatAnnouncesANumber) {
    Counts counts{};
    EXPECT_EQ(mask("4155550123", kAll, counts, "phone: "), "[PHONE_REDACTED]");
    EXPECT_EQ(mask("4155550123", kAll, counts, "order: "), "4155550123");
    EXPECT_EQ(mask("4155550123", kAll, counts), "4155550123");
}

TEST(Types, AreNamed) {
    const Result<TypeSet> some = parse_types({"email", "iban"});
    ASSERT_TRUE(some);
    EXPECT_EQ(some->count(), 2U);
    EXPECT_EQ(parse_types({"all"})->count(), kTypeCount);
    EXPECT_EQ(parse_types({})->count(), 0U);
    const Result<TypeSet> wrong = parse_types({"emails"});
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, ErrorCode::InvalidArgument);
    EXPECT_TRUE(wrong.error().message.contains("\"emails\" is no type"));
}

}  // namespace
}  // namespace belljar::privacy
