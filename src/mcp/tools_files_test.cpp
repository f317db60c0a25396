#include "mcp/tools_files.h"

#include <gtest/gtest.h>

#include "mcp/testing/fake_conversations.h"
#include "mcp/testing/fake_executor.h"
#include "mcp/testing/run_task.h"
#include "mcp/testing/schema_check.h"
#include "mcp/tool_table.h"
#include "mcp/toolbox.h"

namespace belljar::mcp {
namespace {

class ExecutorWithFiles : public FakeExecutor {
   public:
    [[nodiscard]] engine::Conversations& conversations() override { return kept; }
    FakeConversations kept;
};

class FileTools : public testing::Test {
   protected:
    ToolOutcome call(const std::string& name, std::string_view arguments) {
        Toolbox toolbox(executor);
        ToolOutcome outcome =
            run_task(
                toolbox.call({.name = name, .arguments = parse_json(arguments).value().as_object()},
                             std::make_shared<engine::Cancellation>()))
                .value();
        if (outcome.structured) {
            const json::object schema = find_tool(name)->define(executor.sandbox).output_schema;
            EXPECT_EQ(schema_fault(*outcome.structured, schema), "");
        }
        return outcome;
    }

    std::string& file(const std::string& path) { return executor.kept.files[{"c", path}]; }

    ExecutorWithFiles executor;
};

TEST_F(FileTools, ListWhatIsDirectlyThere) {
    file("a.txt") = "abc";
    file("data/b.txt") = "de";
    file("data/deep/c.txt") = "f";
    const ToolOutcome all = call("list_files", R"({"conversation_id":"c"})");
    EXPECT_EQ(all.text, "a.txt (3 bytes, text/plain)\ndata/ (2 files, 3 bytes)\n");
    EXPECT_EQ(all.structured->at("entries").at(0).at("uri"),
              json::value("belljar://conversations/c/files/a.txt"));
    const ToolOutcome below = call("list_files", R"({"conversation_id":"c","path":"./data/"})");
    EXPECT_EQ(below.text, "data/b.txt (2 bytes, text/plain)\ndata/deep/ (1 files, 1 bytes)\n");
    const ToolOutcome deep = call("list_files", R"({"conversation_id":"c","recursive":true})");
    EXPECT_EQ(deep.structured->at("entries").as_array().size(), 3U);
}

TEST_F(FileTools, ListOnlySoMany) {
    for (int number = 0; number < 600; ++number) {
        file(std::to_string(number));
    }
    const ToolOutcome all = call("list_files", R"({"conversation_id":"c"})");
    EXPECT_EQ(all.structured->at("entries").as_array().size(), 500U);
    EXPECT_EQ(all.structured->at("omitted"), json::value(100));
    EXPECT_NE(all.text.find("[100 more"), std::string::npos);
}

TEST_F(FileTools, ReadText) {
    file("a.txt") = "hä";
    const ToolOutcome whole = call("read_file", R"({"conversation_id":"c","path":"a.txt"})");
    EXPECT_EQ(whole.text, "hä");
    EXPECT_EQ(whole.structured->at("more"), json::value(false));
    EXPECT_FALSE(whole.structured->contains("next_offset"));
}

TEST_F(FileTools, ReadOnFromAWholeCharacter) {
    file("a.txt") = "aäb";
    const ToolOutcome part =
        call("read_file", R"({"conversation_id":"c","path":"a.txt","length":2})");
    EXPECT_EQ(part.text, "a\n[bytes 0 to 0 of 4; read on with offset: 1]");
    EXPECT_EQ(part.structured->at("next_offset"), json::value(1));
    const ToolOutcome rest =
        call("read_file", R"({"conversation_id":"c","path":"a.txt","offset":1})");
    EXPECT_EQ(rest.text, "äb");
}

TEST_F(FileTools, ReadLongFilesInParts) {
    file("a.txt") = std::string(100'000, 'x');
    const ToolOutcome part = call("read_file", R"({"conversation_id":"c","path":"a.txt"})");
    EXPECT_EQ(part.structured->at("bytes"), json::value(65536));
    EXPECT_EQ(part.structured->at("next_offset"), json::value(65536));
    const ToolOutcome behind =
        call("read_file", R"({"conversation_id":"c","path":"a.txt","offset":200000})");
    EXPECT_EQ(behind.structured->at("more"), json::value(false));
    EXPECT_EQ(behind.text, "");
}

TEST_F(FileTools, ReadBytesAsBase64) {
    file("a.bin") = std::string("\xFF\x00", 2);
    const ToolOutcome bytes = call("read_file", R"({"conversation_id":"c","path":"a.bin"})");
    EXPECT_EQ(bytes.structured->at("encoding"), json::value("base64"));
    EXPECT_EQ(bytes.structured->at("content"), json::value("/wA="));
    const ToolOutcome forced =
        call("read_file", R"({"conversation_id":"c","path":"a.bin","encoding":"text"})");
    EXPECT_EQ(forced.structured->at("encoding"), json::value("text"));
}

TEST_F(FileTools, ReadAPictureAsAPicture) {
    file("a.png") = std::string(100'000, '\xFF');
    const ToolOutcome picture = call("read_file", R"({"conversation_id":"c","path":"a.png"})");
    ASSERT_EQ(picture.more.size(), 1U);
    EXPECT_EQ(std::get<Picture>(picture.more[0]).data.size(), 100'000U);
    EXPECT_EQ(picture.text, "a.png (100000 bytes)");
}

TEST_F(FileTools, WriteTextAndBytes) {
    ToolOutcome written =
        call("write_file", R"({"conversation_id":"c","path":"a.txt","content":"abc"})");
    EXPECT_EQ(written.text, "Wrote a.txt (3 bytes).");
    EXPECT_EQ(written.structured->at("created"), json::value(true));
    written =
        call("write_file", R"({"conversation_id":"c","path":"a.txt","content_base64":"/wA="})");
    EXPECT_EQ(written.structured->at("created"), json::value(false));
    EXPECT_EQ(file("a.txt").size(), 2U);
    const ToolOutcome refused = call(
        "write_file", R"({"conversation_id":"c","path":"a.txt","content":"","overwrite":false})");
    EXPECT_TRUE(refused.failed);
    EXPECT_NE(refused.text.find("overwrite: true"), std::string::npos);
    EXPECT_EQ(file("a.txt").size(), 2U);
}

TEST_F(FileTools, WhatIsNotThereIsToldToTheModel) {
    EXPECT_TRUE(call("list_files", R"({"conversation_id":"other"})").failed);
    EXPECT_TRUE(call("read_file", R"({"conversation_id":"c","path":"none"})").failed);
}

TEST_F(FileTools, UploadsOfAnotherDialect) {
    const ToolOutcome uploaded =
        call("upload_file", R"({"conversationId":"c","filename":"a.txt","content":"SGVsbG8="})");
    EXPECT_EQ(file("a.txt"), "Hello");
    EXPECT_EQ(to_text(*uploaded.structured),
              R"j({"success":true,"message":"Uploaded a.txt (5 bytes)","file":{"name":"a.txt",)j"
              R"("url":"belljar://conversations/c/files/a.txt"}})");
}

TEST_F(FileTools, FilesOfARunOfAnotherDialect) {
    file("b.txt") = "x";
    file("deep/c.txt") = "y";
    executor.result.files = {{.name = "b.txt"}};
    const ToolOutcome run =
        call("sandbox.run_code", R"({"conversationId":"c","language":"python","code":"1"})");
    EXPECT_EQ(to_text(run.structured->at("files")),
              R"([{"name":"b.txt","url":"belljar://conversations/c/files/b.txt"}])");
    EXPECT_EQ(executor.requests.at(0).conversation_id, "c");
}

}  // namespace
}  // namespace belljar::mcp
