#include "engine/cancellation.h"

#include <gtest/gtest.h>

namespace belljar::engine {
namespace {

TEST(Cancellation, RunsTheHandlerOnce) {
    Cancellation cancellation;
    int calls = 0;
    cancellation.on_request([&] { ++calls; });
    EXPECT_FALSE(cancellation.requested());
    cancellation.request();
    cancellation.request();
    EXPECT_TRUE(cancellation.requested());
    EXPECT_EQ(calls, 1);
}

TEST(Cancellation, WithoutAHandlerIsRemembered) {
    Cancellation cancellation;
    cancellation.request();
    EXPECT_TRUE(cancellation.requested());
}

TEST(Cancellation, RunsALateHandlerAtOnce) {
    Cancellation cancellation;
    cancellation.request();
    int calls = 0;
    cancellation.on_request([&] { ++calls; });
    EXPECT_EQ(calls, 1);
    cancellation.request();
    EXPECT_EQ(calls, 1);
    cancellation.on_request([&] { ++calls; });
    EXPECT_EQ(calls, 2) << "each stage of a run sets a handler of its own";
}

TEST(Cancellation, ANewHandlerReplacesTheOld) {
    Cancellation cancellation;
    int first = 0;
    int second = 0;
    cancellation.on_request([&] { ++first; });
    cancellation.on_request([&] { ++second; });
    cancellation.request();
    EXPECT_EQ(first, 0);
    EXPECT_EQ(second, 1);
}

TEST(Cancellation, AHandlerCanBeRemoved) {
    Cancellation cancellation;
    int calls = 0;
    cancellation.on_request([&] { ++calls; });
    cancellation.on_request(nullptr);
    cancellation.request();
    cancellation.on_request(nullptr);
    EXPECT_EQ(calls, 0);
    EXPECT_TRUE(cancellation.requested());
}

TEST(Cancellation, AHandlerMayAskAgainAndSetAnother) {
    Cancellation cancellation;
    int calls = 0;
    cancellation.on_request([&] {
        cancellation.request();
        cancellation.on_request([&] { ++calls; });
    });
    cancellation.request();
    EXPECT_EQ(calls, 1);
}

TEST(Cancellation, LetsGoOfWhatAHandlerHolds) {
    const auto held = std::make_shared<int>(0);
    Cancellation cancellation;
    cancellation.on_request([held] {});
    EXPECT_EQ(held.use_count(), 2);
    cancellation.on_request(nullptr);
    EXPECT_EQ(held.use_count(), 1);
    cancellation.on_request([held] {});
    cancellation.request();
    EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace belljar::engine
