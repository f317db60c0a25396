#include "alerts/holds.h"

#include <gtest/gtest.h>

#include "alerts/signature.h"

namespace belljar::alerts {
namespace {

using std::chrono::seconds;

WallTime at(int second) { return WallTime(seconds(1'700'000'000 + second)); }

TEST(Holds, BlockEndsByItselfOrWhenItIsLifted) {
    Holds holds;
    EXPECT_FALSE(holds.block_of("ann", at(0)));
    holds.block({.principal = "ann", .since = at(0), .until = at(60), .reason = "why"});
    holds.block({.principal = "ann", .since = at(1), .until = at(30)});  // shorter
    ASSERT_TRUE(holds.block_of("ann", at(59)));
    EXPECT_EQ(holds.block_of("ann", at(59))->reason, "why");
    EXPECT_FALSE(holds.block_of("ann", at(60)));
    EXPECT_FALSE(holds.block_of("ben", at(0)));
    EXPECT_EQ(holds.blocks(at(0)).size(), 1U);
    EXPECT_TRUE(holds.lift_block("ann", at(10)));
    EXPECT_FALSE(holds.block_of("ann", at(10)));
    EXPECT_EQ(holds.lift_block("ann", at(10)).error().code, ErrorCode::NotFound);
}

TEST(Holds, QuarantineIsOfOneConversationOfOnePrincipal) {
    Holds holds;
    EXPECT_TRUE(holds.quarantine({.principal = "ann", .conversation_id = "notes"}));
    EXPECT_TRUE(holds.is_quarantined("ann", "notes"));
    EXPECT_FALSE(holds.is_quarantined("ann", "other"));
    EXPECT_FALSE(holds.is_quarantined("ben", "notes"));
    EXPECT_TRUE(holds.lift_quarantine("ann", "notes"));
    EXPECT_FALSE(holds.is_quarantined("ann", "notes"));
    EXPECT_EQ(holds.lift_quarantine("ann", "notes").error().code, ErrorCode::NotFound);
}

TEST(Holds, AreBounded) {
    Holds holds;
    for (int index = 0; index < 5000; ++index) {
        const std::string name = "p" + std::to_string(index);
        holds.block({.principal = name, .until = at(index + 1)});
        const bool held = holds.quarantine({.principal = name}).has_value();
        EXPECT_EQ(held, index < static_cast<int>(Holds::kMost));
    }
    EXPECT_EQ(holds.blocks(at(0)).size(), Holds::kMost);
    EXPECT_FALSE(holds.block_of("p0", at(0)));  // it would have ended first
    EXPECT_TRUE(holds.block_of("p4999", at(0)));
}

TEST(Holds, SurviveAsText) {
    Holds holds;
    holds.grade = "strong";
    holds.block({.principal = "ann", .since = at(0), .until = at(60), .reason = "a \"reason\"\n"});
    holds.block({.principal = "old", .since = at(0), .until = at(5)});
    EXPECT_TRUE(holds.quarantine(
        {.principal = "", .conversation_id = "notes", .since = at(2), .reason = "why"}));
    const Result<Holds> read = Holds::parse(holds.to_text(at(10)));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->grade, "strong");
    ASSERT_EQ(read->blocks(at(0)).size(), 1U);
    EXPECT_EQ(read->blocks(at(0)), holds.blocks(at(10)));
    EXPECT_EQ(read->quarantines(), holds.quarantines());
}

TEST(Holds, RefuseWhatIsDamaged) {
    for (const std::string_view text :
         {"", "[]", "{", R"({"blocks": [1]})", R"({"blocks": [{"principal": "a"}]})",
          R"({"blocks": [{"principal": 1, "since": 1, "until": 1, "reason": ""}]})",
          R"({"blocks": [{"principal": "a", "since": 1, "until": -1, "reason": ""}]})",
          R"({"quarantines": [{"principal": "a", "since": 1, "reason": ""}]})"}) {
        EXPECT_FALSE(Holds::parse(text)) << text;
    }
    EXPECT_TRUE(Holds::parse("{}"));
}

TEST(Signature, IsTheOneThatReceiversCompute) {
    // printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac secret
    EXPECT_EQ(sign_body("secret", R"({"a":1})", at(0)),
              "t=1700000000,v1=49f24e537407743fa4a0242bb63b94b9a47ee99cbbe071ccd8a22550ae411686");
}

}  // namespace
}  // namespace belljar::alerts
