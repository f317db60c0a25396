#include "mcp/run_resources.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/id.h"
#include "mcp/testing/run_task.h"

namespace belljar::mcp {
namespace {

using execution::OutputStream;

class RunResourcesTest : public testing::Test {
   protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "runs-XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        place = name;
        const Fd data(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        store = storage::OutputStore::open(data, {}).value();
        storage::OutputRecording recording = store->record({id, "alice"}, mebibytes(1));
        recording.append(OutputStream::Stdout, "0123456789");
        ASSERT_TRUE(recording.publish().value());
    }
    void TearDown() override { std::filesystem::remove_all(place); }

    RpcResult<ResourceContents> read(const std::string& rest,
                                     Asker asker = {.principal = "alice"}) {
        RunResources provider(store.get());
        auto round = run_task(provider.read_resource(
            {.uri = "belljar://runs/" + rest, .asker = std::move(asker)}, nullptr));
        if (!round) {
            return std::unexpected(round.error());
        }
        return std::get<ResourceContents>(*round);
    }

    std::filesystem::path place;
    std::string id = make_uuid();
    std::unique_ptr<storage::OutputStore> store;
};

TEST_F(RunResourcesTest, ReadsAStreamAndAPartOfIt) {
    EXPECT_EQ(read(id + "/stdout")->parts.front().bytes, "0123456789");
    const auto part = read(id + "/stdout?offset=8&length=5");
    EXPECT_EQ(part->parts.front().bytes, "89");
    EXPECT_EQ(part->parts.front().meta.at("belljar/range"),
              json::value(json::object{{"offset", 8}, {"bytes", 2}, {"total", 10}}));
    EXPECT_EQ(read(id + "/stdout?offset=10").error().code, RpcCode::InvalidParams);
}

TEST_F(RunResourcesTest, EverythingElseIsNotThere) {
    for (const std::string& rest :
         {id + "/stderr", id, id + "/", id + "/stdin", make_uuid() + "/stdout",
          std::string("../stdout"), std::string("/stdout")}) {
        const auto contents = read(rest);
        ASSERT_FALSE(contents) << rest;
        EXPECT_EQ(contents.error().code, RpcCode::ResourceNotFound);
    }
    EXPECT_EQ(read(id + "/stdout", {.principal = "bob"}).error().code, RpcCode::ResourceNotFound);
    EXPECT_EQ(read(id + "/stdout", {}).error().code, RpcCode::ResourceNotFound);
}

TEST_F(RunResourcesTest, CompletesOnesOwn) {
    RunResources provider(store.get());
    const auto ask = [&](std::string argument, std::string begun, std::string principal) {
        return run_task(provider.complete({.of = CompletionRequest::Of::Template,
                                           .name = std::string(RunResources::kTemplate),
                                           .argument = std::move(argument),
                                           .begun = std::move(begun),
                                           .asker = {.principal = std::move(principal)}}))
            .value()
            .values;
    };
    EXPECT_EQ(ask("execution_id", id.substr(0, 4), "alice"), std::vector<std::string>{id});
    EXPECT_TRUE(ask("execution_id", "", "bob").empty());
    EXPECT_EQ(ask("stream", "stde", "alice"), std::vector<std::string>{"stderr"});
}

TEST(RunResourcesWithoutStore, FindsNothing) {
    RunResources provider(nullptr);
    const auto read = run_task(provider.read_resource({.uri = "belljar://runs/a/stdout"}, nullptr));
    EXPECT_EQ(read.error().code, RpcCode::ResourceNotFound);
}

}  // namespace
}  // namespace belljar::mcp
