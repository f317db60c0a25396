#include "mcp/in_flight.h"

#include <gtest/gtest.h>

#include <vector>

namespace belljar::mcp {
namespace {

TEST(InFlight, AnIdIsUsedOnceAtATime) {
    InFlight requests;
    RpcResult<InFlight::EntryPtr> first = requests.begin(1);
    ASSERT_TRUE(first);
    EXPECT_EQ(requests.begin(1).error().code, RpcCode::InvalidRequest);
    EXPECT_TRUE(requests.begin("1"));  // another id than 1
    first->reset();
    EXPECT_TRUE(requests.begin(1));
}

TEST(InFlight, CancelsByIdAndAll) {
    InFlight requests;
    const InFlight::EntryPtr first = requests.begin(1).value();
    const InFlight::EntryPtr second = requests.begin(2).value();
    requests.cancel("1");
    requests.cancel(3);
    EXPECT_FALSE(first->cancellation()->requested());
    requests.cancel(1);
    EXPECT_TRUE(first->cancellation()->requested());
    EXPECT_FALSE(second->cancellation()->requested());
    requests.cancel_all();
    EXPECT_TRUE(second->cancellation()->requested());
}

TEST(InFlight, IsBounded) {
    InFlight requests;
    std::vector<InFlight::EntryPtr> entries;
    RpcResult<InFlight::EntryPtr> entry = requests.begin(0);
    for (int id = 1; entry && id < 10000; ++id) {
        entries.push_back(std::move(*entry));
        entry = requests.begin(id);
    }
    EXPECT_FALSE(entry);
    EXPECT_EQ(entries.size(), 256U);
    entries.clear();
    EXPECT_TRUE(requests.empty());
}

TEST(InFlight, AnEntryMayOutliveTheTable) {
    InFlight::EntryPtr entry;
    {
        InFlight requests;
        entry = requests.begin(1).value();
    }
    EXPECT_FALSE(entry->cancellation()->requested());
}

}  // namespace
}  // namespace belljar::mcp
