#include "mcp/request_state.h"

#include <gtest/gtest.h>

namespace belljar::mcp {
namespace {

class RequestStatesTest : public testing::Test {
   protected:
    RequestStates states;
    const StateBinding binding{.principal = "anna", .method = "tools/call", .params = "{}"};
    const RequestStates::Clock::time_point now = RequestStates::Clock::now();
    const std::string sealed = states.seal("secret", binding, now);
};

TEST_F(RequestStatesTest, ComesBackOnce) {
    EXPECT_EQ(states.open(sealed, binding, now).value(), json::value("secret"));
    EXPECT_EQ(states.open(sealed, binding, now).error().code, RpcCode::InvalidParams);
}

TEST_F(RequestStatesTest, BelongsToItsCallerAndItsRequest) {
    for (const StateBinding& other :
         {StateBinding{.principal = "bert", .method = "tools/call", .params = "{}"},
          StateBinding{.principal = "anna", .method = "prompts/get", .params = "{}"},
          StateBinding{.principal = "anna", .method = "tools/call", .params = "[]"}}) {
        EXPECT_FALSE(states.open(sealed, other, now));
    }
    EXPECT_TRUE(states.open(sealed, binding, now));  // a wrong try does not use it up
}

TEST_F(RequestStatesTest, Expires) {
    EXPECT_FALSE(
        states.open(sealed, binding, now + RequestStates::kLifetime + std::chrono::seconds(2)));
}

TEST_F(RequestStatesTest, IsOfNoUseWhenChanged) {
    for (std::size_t place = 0; place < sealed.size(); ++place) {
        std::string changed = sealed;
        changed[place] = changed[place] == 'A' ? 'B' : 'A';
        EXPECT_FALSE(states.open(changed, binding, now)) << place;
    }
    for (const std::string& other : {std::string(), std::string("."), sealed + "A",
                                     sealed.substr(1), "." + sealed, sealed + "." + sealed}) {
        EXPECT_FALSE(states.open(other, binding, now)) << other;
    }
}

TEST_F(RequestStatesTest, IsOfNoUseElsewhere) {
    RequestStates others;
    EXPECT_FALSE(others.open(sealed, binding, now));
}

}  // namespace
}  // namespace belljar::mcp
