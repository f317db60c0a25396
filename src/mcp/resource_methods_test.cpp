#include "mcp/resource_methods.h"

#include "mcp/testing/method_test.h"

namespace belljar::mcp {
namespace {

using ResourceMethodsTest = MethodTest;

TEST_F(ResourceMethodsTest, ListsResourcesAndTemplates) {
    const json::value listed = ask("resources/list");
    EXPECT_EQ(listed.at_pointer("/result/resources/0/uri"), json::value("test://static-text"));
    EXPECT_EQ(listed.at_pointer("/result/cacheScope"), json::value("private"));
    EXPECT_EQ(ask("resources/templates/list").at_pointer("/result/resourceTemplates/0/uriTemplate"),
              json::value("test://template/{id}/data"));
    EXPECT_EQ(error_of(ask("resources/list", {{"cursor", "x"}})), -32602);
    EXPECT_FALSE(ask_legacy("resources/list").at("result").as_object().contains("ttlMs"));
}

TEST_F(ResourceMethodsTest, ReadsTextAndBytes) {
    EXPECT_EQ(ask("resources/read", {{"uri", "test://static-text"}})
                  .at_pointer("/result/contents/0/text"),
              json::value("This is the content of the static text resource."));
    const json::value binary = ask("resources/read", {{"uri", "test://static-binary"}});
    EXPECT_TRUE(binary.at_pointer("/result/contents/0/blob").as_string().starts_with("iVBOR"));
    const json::value made = ask("resources/read", {{"uri", "test://template/7/data"}});
    EXPECT_NE(made.at_pointer("/result/contents/0/text").as_string().find(R"("id":"7")"),
              json::string::npos);
}

TEST_F(ResourceMethodsTest, WhatIsNotThereIsSaidInTheWordsOfTheRevision) {
    for (const char* uri : {"test://nothing", "other://nothing", "test://template//data"}) {
        const json::value missing = ask("resources/read", {{"uri", uri}});
        EXPECT_EQ(error_of(missing), -32602) << uri;
        EXPECT_EQ(missing.at_pointer("/error/data/uri"), json::value(uri));
        EXPECT_EQ(error_of(ask_legacy("resources/read", {{"uri", uri}})), -32002) << uri;
    }
    EXPECT_EQ(error_of(ask("resources/read")), -32602);
    EXPECT_EQ(error_of(ask("resources/read", {{"uri", 1}})), -32602);
}

TEST_F(ResourceMethodsTest, SubscriptionsAreKeptForAConnection) {
    ConnectionMemory memory;
    const auto tell = [&](std::string_view method, std::string_view uri) {
        Call call = legacy_call(method, {{"uri", uri}});
        call.memory = &memory;
        return error_of(answer(std::move(call)));
    };
    EXPECT_EQ(tell("resources/subscribe", "test://watched-resource"), 0);
    EXPECT_TRUE(memory.subscriptions.contains("test://watched-resource"));
    EXPECT_EQ(tell("resources/unsubscribe", "test://watched-resource"), 0);
    EXPECT_TRUE(memory.subscriptions.empty());
    EXPECT_EQ(error_of(ask_legacy("resources/subscribe", {{"uri", "test://x"}})), -32600);
    for (std::size_t count = 0; count < ResourceMethods::kMostSubscriptions; ++count) {
        EXPECT_EQ(tell("resources/subscribe", "test://" + std::to_string(count)), 0);
    }
    EXPECT_EQ(tell("resources/subscribe", "test://one-more"), -32602);
    EXPECT_EQ(tell("resources/subscribe", "test://0"), 0);
}

TEST_F(ResourceMethodsTest, ModernClientsSubscribeOtherwise) {
    EXPECT_EQ(error_of(ask("resources/subscribe", {{"uri", "test://watched-resource"}})), -32601);
}

}  // namespace
}  // namespace belljar::mcp
