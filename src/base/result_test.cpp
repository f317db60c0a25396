#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace belljar {
namespace {

Result<int> half_of(int number) {
    if (number % 2 != 0) {
        return fail(ErrorCode::InvalidArgument, "odd");
    }
    return number / 2;
}

Result<std::string> quarter_of(int number) {
    BJ_TRY(const int half, half_of(number));
    BJ_TRY(const int quarter, half_of(half));
    return std::to_string(quarter);
}

Result<void> check_even(int number, std::vector<int>& reached) {
    BJ_TRY_VOID(half_of(number));
    reached.push_back(number);
    return {};
}

Result<std::unique_ptr<int>> boxed(int number) {
    BJ_TRY(const int half, half_of(number));
    return std::make_unique<int>(half);
}

Result<int> unboxed(int number) {
    BJ_TRY(const std::unique_ptr<int> box, boxed(number));
    return *box;
}

TEST(Try, DeclaresTheValue) { EXPECT_EQ(quarter_of(12).value(), "3"); }

TEST(Try, ReturnsTheFirstErrorOfAnotherResultType) {
    EXPECT_EQ(quarter_of(3).error().message, "odd");
    EXPECT_EQ(quarter_of(6).error().code, ErrorCode::InvalidArgument);
}

TEST(Try, MovesWhatCannotBeCopied) {
    EXPECT_EQ(unboxed(10).value(), 5);
    EXPECT_FALSE(unboxed(11));
}

TEST(Try, AssignsToWhatExists) {
    int half = 0;
    const auto assign = [&half](int number) -> Result<void> {
        BJ_TRY(half, half_of(number));
        return {};
    };
    EXPECT_TRUE(assign(8));
    EXPECT_EQ(half, 4);
    EXPECT_FALSE(assign(9));
    EXPECT_EQ(half, 4);
}

TEST(TryVoid, GoesOnOnlyAfterSuccess) {
    std::vector<int> reached;
    EXPECT_TRUE(check_even(2, reached));
    EXPECT_FALSE(check_even(3, reached));
    EXPECT_EQ(reached, std::vector<int>{2});
}

TEST(TryVoid, StandsAloneInABranch) {
    const auto run = [](int number) -> Result<void> {
        if (number > 0) {
            BJ_TRY_VOID(half_of(number));
        } else {
            BJ_TRY_VOID(half_of(number + 1));
        }
        return {};
    };
    EXPECT_TRUE(run(2));
    EXPECT_FALSE(run(1));
    EXPECT_TRUE(run(-1));
    EXPECT_FALSE(run(0));
}

TEST(Fail, KeepsTheWholeError) {
    const Result<int> result = fail(
        Error{.code = ErrorCode::Conflict, .message = "taken", .sys_errno = 5, .where = "flock"});
    EXPECT_EQ(result.error().code, ErrorCode::Conflict);
    EXPECT_EQ(result.error().message, "taken");
    EXPECT_EQ(result.error().sys_errno, 5);
    EXPECT_EQ(result.error().where, "flock");
}

}  // namespace
}  // namespace belljar
