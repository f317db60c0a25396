#include "mcp/prompt_provider.h"

#include <gtest/gtest.h>

#include "mcp/testing/owned_files.h"
#include "mcp/testing/run_task.h"

namespace belljar::mcp {
namespace {

class PromptProviderTest : public testing::Test {
   protected:
    RpcResult<PromptOutcome> get(std::string name, std::map<std::string, std::string> arguments,
                                 Asker asker = {.principal = "alice"}) {
        auto round = run_task(provider.get_prompt(
            {.name = std::move(name), .arguments = std::move(arguments), .asker = std::move(asker)},
            nullptr));
        if (!round) {
            return std::unexpected(round.error());
        }
        return std::get<PromptOutcome>(*round);
    }

    static std::string text_of(const PromptOutcome& outcome) {
        return std::get<std::string>(outcome.messages.front().content);
    }

    ExecutorWithFiles executor;
    PromptProvider provider{executor};
};

TEST_F(PromptProviderTest, EveryPromptIsDescribed) {
    for (const PromptDefinition& prompt : provider.prompts()) {
        EXPECT_TRUE(provider.has_prompt(prompt.name));
        EXPECT_FALSE(prompt.title.empty() || prompt.description.empty());
        for (const PromptArgument& argument : prompt.arguments) {
            EXPECT_FALSE(argument.description.empty()) << argument.name;
        }
    }
    EXPECT_FALSE(provider.has_prompt("other"));
}

TEST_F(PromptProviderTest, ASmallFileStandsInThePrompt) {
    executor.owned.put({"alice", "c", "d/a.csv"}, "x,y\n1,2\n");
    const auto outcome = get(
        "analyse_file", {{"conversation_id", "c"}, {"path", "d/a.csv"}, {"question", "how many?"}});
    ASSERT_TRUE(outcome);
    EXPECT_NE(text_of(*outcome).find("how many?"), std::string::npos);
    EXPECT_NE(text_of(*outcome).find("/workspace/d/a.csv"), std::string::npos);
    const auto& embedded = std::get<EmbeddedResource>(outcome->messages.at(1).content);
    EXPECT_EQ(embedded.uri, "belljar://conversations/c/files/d/a.csv");
    EXPECT_EQ(embedded.data, "x,y\n1,2\n");
}

TEST_F(PromptProviderTest, AnotherFileIsPointedTo) {
    executor.owned.put({"alice", "c", "big"}, std::string(PromptProvider::kMostEmbedded + 1, 'x'));
    executor.owned.put({"alice", "c", "a.png"}, "png");
    for (const char* path : {"big", "a.png"}) {
        const auto outcome = get("analyse_file", {{"conversation_id", "c"}, {"path", path}});
        ASSERT_TRUE(outcome);
        EXPECT_EQ(std::get<ResourceLink>(outcome->messages.at(1).content).name, path);
    }
}

TEST_F(PromptProviderTest, AFileOfSomebodyElseCannotBeRead) {
    executor.owned.put({"bob", "c", "a"}, "his");
    EXPECT_EQ(get("analyse_file", {{"conversation_id", "c"}, {"path", "a"}}).error().code,
              RpcCode::InvalidParams);
    executor.owned.put({"alice", "c", "a"}, "hers");
    EXPECT_FALSE(get("analyse_file", {{"conversation_id", "c"}, {"path", "a"}},
                     {.principal = "alice", .rights = {access::Right::RunExec}}));
}

TEST_F(PromptProviderTest, DenialsAndToolsAreWrittenInWords) {
    const auto denial = get("explain_denial", {{"denial", "network.off"}, {"language", "ruby"}});
    EXPECT_NE(text_of(*denial).find("A ruby program"), std::string::npos);
    EXPECT_NE(text_of(*denial).find("network.off"), std::string::npos);
    EXPECT_NE(text_of(*get("explain_denial", {{"status", "memory"}})).find("memory"),
              std::string::npos);
    EXPECT_EQ(get("explain_denial", {}).error().code, RpcCode::InvalidParams);
    const auto tool = get("write_tool", {{"purpose", "count words"}, {"name", "words"}});
    EXPECT_NE(text_of(*tool).find("\"words\" for this purpose: count words"), std::string::npos);
}

TEST_F(PromptProviderTest, AnArgumentHasALimit) {
    EXPECT_EQ(get("write_tool", {{"purpose", std::string(100'000, 'x')}}).error().code,
              RpcCode::InvalidParams);
}

TEST_F(PromptProviderTest, CompletesItsArguments) {
    executor.owned.put({"alice", "chat", "a.csv"}, "");
    const auto ask = [this](std::string name, std::string argument, std::string begun) {
        return run_task(provider.complete({.name = std::move(name),
                                           .argument = std::move(argument),
                                           .begun = std::move(begun),
                                           .context = {{"conversation_id", "chat"}},
                                           .asker = {.principal = "alice"}}))
            .value()
            .values;
    };
    EXPECT_EQ(ask("analyse_file", "conversation_id", "c"), std::vector<std::string>{"chat"});
    EXPECT_EQ(ask("analyse_file", "path", "a"), std::vector<std::string>{"a.csv"});
    EXPECT_EQ(ask("explain_denial", "language", "p"), std::vector<std::string>{"python"});
    EXPECT_EQ(ask("explain_denial", "status", "me"), std::vector<std::string>{"memory"});
    EXPECT_TRUE(ask("write_tool", "purpose", "").empty());
    EXPECT_FALSE(run_task(provider.complete({.name = "other"})));
}

}  // namespace
}  // namespace belljar::mcp
