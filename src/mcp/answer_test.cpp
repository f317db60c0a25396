#include "mcp/answer.h"

#include <gtest/gtest.h>

#include "mcp/era.h"

namespace belljar::mcp {
namespace {

const Identity kIdentity{.version = "1.2.3"};

const ToolList kTools{.tools = {{.name = "t",
                                 .title = "T",
                                 .description = "d",
                                 .input_schema = {{"type", "object"}},
                                 .output_schema = {{"type", "object"}},
                                 .annotations = {{"readOnlyHint", true}}}}};

std::string encoded(const Answer& answer, Revision revision) {
    return to_text(encode(answer, revision, kIdentity));
}

TEST(Answer, ModernResultsCarryTypeAndServer) {
    EXPECT_EQ(encoded(Acknowledgement{}, Revision::V2026_07_28),
              R"({"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":)"
              R"({"name":"belljar","version":"1.2.3","title":"Belljar"}}})");
    EXPECT_EQ(encoded(Acknowledgement{}, Revision::V2025_11_25), "{}");
}

TEST(Answer, DiscoveryIsPublicForAnHour) {
    const json::object result = encode(Discovery{}, Revision::V2026_07_28, kIdentity);
    EXPECT_EQ(to_text(result.at("supportedVersions")), R"(["2026-07-28"])");
    EXPECT_EQ(to_text(result.at("capabilities")),
              R"({"tools":{},"resources":{"subscribe":true,"listChanged":true},"prompts":{},)"
              R"("logging":{},"completions":{}})");
    EXPECT_EQ(result.at("ttlMs"), json::value(3600000));
    EXPECT_EQ(result.at("cacheScope"), json::value("public"));
    EXPECT_FALSE(result.contains("serverInfo"));
}

TEST(Answer, HandshakeFitsTheNegotiatedRevision) {
    const Handshake newest{.revision = Revision::V2025_11_25};
    const json::object result = encode(newest, kAssumedRevision, kIdentity);
    EXPECT_EQ(result.at("protocolVersion"), json::value("2025-11-25"));
    EXPECT_TRUE(result.at("serverInfo").as_object().contains("title"));
    EXPECT_TRUE(result.contains("instructions"));
    EXPECT_FALSE(result.contains("resultType"));
    const Handshake oldest{.revision = Revision::V2024_11_05};
    const json::object old = encode(oldest, kAssumedRevision, kIdentity);
    EXPECT_FALSE(old.at("serverInfo").as_object().contains("title"));
}

TEST(Answer, OlderRevisionsAreToldLessOfATool) {
    EXPECT_EQ(encoded(kTools, Revision::V2024_11_05),
              R"({"tools":[{"name":"t","description":"d","inputSchema":{"type":"object"}}]})");
    EXPECT_EQ(encoded(kTools, Revision::V2025_03_26),
              R"({"tools":[{"name":"t","description":"d","inputSchema":{"type":"object"},)"
              R"("annotations":{"readOnlyHint":true}}]})");
    const std::string full =
        R"({"tools":[{"name":"t","description":"d","inputSchema":{"type":"object"},)"
        R"("annotations":{"readOnlyHint":true},"title":"T","outputSchema":{"type":"object"}}]})";
    EXPECT_EQ(encoded(kTools, Revision::V2025_06_18), full);
    EXPECT_EQ(encoded(kTools, Revision::V2025_11_25), full);
}

TEST(Answer, ModernToolListsSayHowLongTheyHold) {
    const json::object result = encode(kTools, Revision::V2026_07_28, kIdentity);
    EXPECT_EQ(result.at("ttlMs"), json::value(300000));
    EXPECT_EQ(result.at("cacheScope"), json::value("private"));
}

TEST(Answer, StructuredContentFromJune2025) {
    const ToolOutcome outcome{.text = "x", .structured = json::object{{"a", 1}}};
    EXPECT_EQ(encoded(outcome, Revision::V2025_03_26),
              R"({"content":[{"type":"text","text":"x"}],"isError":false})");
    EXPECT_EQ(encoded(outcome, Revision::V2025_06_18),
              R"({"content":[{"type":"text","text":"x"}],"isError":false,)"
              R"("structuredContent":{"a":1}})");
}

TEST(Answer, AFailedToolSaysWhenToTryAgainInEveryRevision) {
    const ToolOutcome outcome{.text = "x", .failed = true, .retry_after = std::chrono::seconds(7)};
    EXPECT_EQ(encoded(outcome, Revision::V2024_11_05),
              R"({"content":[{"type":"text","text":"x"}],"isError":true,)"
              R"("_meta":{"belljar/retry_after_seconds":7}})");
    const json::object modern = encode(outcome, Revision::V2026_07_28, kIdentity);
    EXPECT_EQ(modern.at("_meta").at(kRetryAfterKey), json::value(7));
    EXPECT_TRUE(modern.at("_meta").as_object().contains(kServerInfoKey));
}

TEST(Answer, IconsFromNovember2025) {
    ToolList tools = kTools;
    tools.tools[0].icon = "data:,x";
    EXPECT_EQ(encoded(tools, Revision::V2025_06_18).find("icons"), std::string::npos);
    const json::object result = encode(tools, Revision::V2025_11_25, kIdentity);
    EXPECT_EQ(to_text(result.at("tools").at(0).at("icons")),
              R"([{"src":"data:,x","mimeType":"image/svg+xml","sizes":["any"]}])");
}

json::value block(Content content, Revision revision) {
    const ToolOutcome outcome{.text = "x", .more = {std::move(content)}};
    return encode(outcome, revision, kIdentity).at("content").at(1);
}

TEST(Answer, EveryKindOfContentHasItsBlock) {
    const Revision newest = Revision::V2026_07_28;
    EXPECT_EQ(to_text(block("t", newest)), R"({"type":"text","text":"t"})");
    EXPECT_EQ(to_text(block(Picture{.mime = "image/png", .data = "x"}, newest)),
              R"({"type":"image","data":"eA==","mimeType":"image/png"})");
    EXPECT_EQ(to_text(block(Audio{.mime = "audio/wav", .data = "x"}, newest)),
              R"({"type":"audio","data":"eA==","mimeType":"audio/wav"})");
    EXPECT_EQ(
        to_text(block(ResourceLink{.uri = "u:", .name = "n", .mime = "m", .size = 3}, newest)),
        R"({"type":"resource_link","uri":"u:","name":"n","mimeType":"m","size":3})");
    EXPECT_EQ(to_text(block(EmbeddedResource{.uri = "u:", .mime = "m", .data = "t"}, newest)),
              R"({"type":"resource","resource":{"uri":"u:","mimeType":"m","text":"t"}})");
    EXPECT_EQ(to_text(block(
                  EmbeddedResource{
                      .uri = "u:", .mime = "m", .kind = EmbeddedResource::Kind::Blob, .data = "x"},
                  newest)),
              R"({"type":"resource","resource":{"uri":"u:","mimeType":"m","blob":"eA=="}})");
}

TEST(Answer, OlderRevisionsAreToldInWords) {
    const ResourceLink link{.uri = "u:", .name = "n", .description = "d", .mime = "m", .size = 3};
    EXPECT_EQ(to_text(block(link, Revision::V2025_03_26)),
              R"({"type":"text","text":"[n: u: (m, 3 bytes): d]"})");
    EXPECT_EQ(block(link, Revision::V2025_06_18).at("type"), json::value("resource_link"));
    const Audio audio{.mime = "audio/wav", .data = "x"};
    EXPECT_EQ(block(audio, Revision::V2024_11_05).at("type"), json::value("text"));
    EXPECT_EQ(block(audio, Revision::V2025_03_26).at("type"), json::value("audio"));
    EXPECT_EQ(block(EmbeddedResource{.uri = "u:"}, Revision::V2024_11_05).at("type"),
              json::value("resource"));
}

TEST(Answer, TextIsMadeValid) {
    const ToolOutcome outcome{.text = "\xFF", .failed = true};
    EXPECT_EQ(encoded(outcome, Revision::V2025_11_25),
              "{\"content\":[{\"type\":\"text\",\"text\":\"\xEF\xBF\xBD\"}],\"isError\":true}");
}

TEST(Answer, ContentIsSaidInWordsWhereARevisionHasNoBlockForIt) {
    const Content audio = Audio{.mime = "audio/wav", .data = "abc"};
    EXPECT_EQ(encode(audio, Revision::V2025_03_26).at("type"), json::value("audio"));
    EXPECT_EQ(encode(audio, Revision::V2024_11_05).at("type"), json::value("text"));
    const Content link = ResourceLink{.uri = "test://a", .name = "a", .mime = "text/plain"};
    EXPECT_EQ(encode(link, Revision::V2025_06_18).at("type"), json::value("resource_link"));
    EXPECT_EQ(encode(link, Revision::V2025_03_26).at("type"), json::value("text"));
    const Content resource =
        EmbeddedResource{.uri = "test://a", .mime = "text/plain", .data = "abc"};
    EXPECT_EQ(encode(resource, Revision::V2024_11_05).at("resource").at("text"),
              json::value("abc"));
}

}  // namespace
}  // namespace belljar::mcp
