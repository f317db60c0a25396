#include "audit/entries.h"

#include <gtest/gtest.h>

namespace belljar::audit {
namespace {

using execution::RunAccount;
using execution::RunResult;

json::object parsed(const JsonText& text) { return parse_json(text.text()).value().as_object(); }

RunAccount account() {
    return {.asked = std::chrono::system_clock::now(),
            .principal = "ada",
            .language = "python",
            .conversation_id = "c1",
            .approved_by = "eve",
            .trace = "4bf92f3577b34da6a3ce929d0e0e4736",
            .protocol = execution::Protocol::Mcp,
            .tool = "execute_code",
            .client = "agent 1.0",
            .address = "192.0.2.7",
            .code_sha256 = std::string(64, 'a'),
            .code_bytes = 11};
}

RunResult result() {
    return {.execution_id = "e1",
            .conversation_id = "c1",
            .language = "python",
            .status = execution::Status::Timeout,
            .exit_code = std::nullopt,
            .signal = 9,
            .stdout_stream = {.text = "what it wrote", .bytes = 13},
            .denials = {{.what = "opened /etc/shadow", .rule = "file.read"}},
            .limits = {.memory = mebibytes(64)},
            .isolation = {.grade = "full", .tier = "namespaces"},
            .profile = "basic",
            .policy_version = "v7",
            .tools_digest = "d1",
            .findings = {{.rule = "code.eval", .severity = execution::Severity::High}},
            .masked = {{"email", 3}},
            .file_access = {.read = {"in.csv"}, .written = {"out.csv"}, .complete = true},
            .network_attempts = {.without_route = 2, .places = {"198.51.100.1:443"}}};
}

TEST(AuditEntries, ARunTellsWhatWasAskedFor) {
    const Entry entry = entry_of(account(), result(), Redaction());
    EXPECT_EQ(entry.kind, "run");
    const std::string body = entry.body.text();
    for (const std::string_view part :
         {R"("execution_id":"e1")", R"("tool":"execute_code")", R"("protocol":"mcp")",
          R"("status":"timeout")", R"("signal":9)", R"("profile":"basic")",
          R"("policy_version":"v7")", R"("tools_digest":"d1")", R"("memory_bytes":67108864)",
          R"("grade":"full")", R"({"rule":"file.read","source":"limit"})",
          R"("rule":"code.eval","severity":"high")", R"({"type":"email","count":3})",
          R"("complete":true)", R"("without_route":2)", R"("duration_us":)", R"("wall_us":)"}) {
        EXPECT_NE(body.find(part), std::string::npos) << part << " in " << body;
    }
    const std::string personal = entry.personal.text();
    for (const std::string_view part :
         {R"("principal":"ada")", R"("client":"agent 1.0")", R"("address":"192.0.2.7")",
          R"("conversation_id":"c1")", R"("approved_by":"eve")", R"("trace_id":"4bf9)",
          R"("code_sha256":"aaa)", R"("read":["in.csv"])", R"("written":["out.csv"])",
          R"(["198.51.100.1:443"])", R"("opened /etc/shadow")"}) {
        EXPECT_NE(personal.find(part), std::string::npos) << part << " in " << personal;
        EXPECT_EQ(body.find(part), std::string::npos) << part;
    }
    EXPECT_EQ((body + personal).find("what it wrote"), std::string::npos);
    EXPECT_EQ((body + personal).find("\"hash\":"), std::string::npos);
}

// A text is the same whoever wrote it: an object of its members would become the same bytes.
TEST(AuditEntries, AreWrittenAsObjectsAre) {
    RunResult full = result();
    full.limits.cpu = 1.5;
    full.exit_code = 3;
    full.isolation.missing = {"a", "b"};
    full.files = {{.name = "a\n\"b", .change = "created", .size = 5, .sha256 = "00"}, {}};
    full.session_id = "s1";
    const execution::SecurityEvent event{.principal = "a\\b", .details = {{"k", "v"}, {"", ""}}};
    for (const Entry& entry :
         {entry_of(account(), full, Redaction()), entry_of(account(), RunResult{}, Redaction()),
          entry_of(account(), fail(ErrorCode::Denied, "no"), Redaction()),
          entry_of(event, Redaction()), entry_of(Decision{.status = 201}, Redaction())}) {
        EXPECT_EQ(entry.body.text(), to_text(parsed(entry.body)));
        EXPECT_EQ(entry.personal.text(), to_text(parsed(entry.personal)));
    }
}

TEST(AuditEntries, ARefusalTellsWhy) {
    const Entry entry =
        entry_of(account(), fail(ErrorCode::Denied, "Import 'os' is not allowed"), Redaction());
    EXPECT_EQ(entry.kind, "refusal");
    EXPECT_EQ(parsed(entry.body).at("status"), "refused");
    EXPECT_EQ(parsed(entry.body).at("code").as_string(), name_of(ErrorCode::Denied));
    EXPECT_EQ(parsed(entry.personal).at("reason"), "Import 'os' is not allowed");
}

TEST(AuditEntries, TheTextOfAProgramIsThereOnlyIfItIsWanted) {
    RunAccount full = account();
    full.code = std::make_shared<const std::string>("print('hi')");
    EXPECT_EQ(parsed(entry_of(full, result(), Redaction()).personal).at("code"), "print('hi')");
    EXPECT_FALSE(parsed(entry_of(account(), result(), Redaction()).personal).contains("code"));
}

TEST(AuditEntries, SecretsAndTokensNeverAppear) {
    RunAccount told = account();
    told.client = "agent hunter2secret";
    told.code = std::make_shared<const std::string>(
        "key = 'hunter2secret'; token = 'bj_0123456789abcdef0123456789'");
    RunResult run = result();
    run.file_access.read = {"hunter2secret.txt"};
    const Entry entry = entry_of(told, run, Redaction({"hunter2secret"}));
    const std::string all = entry.body.text() + entry.personal.text();
    EXPECT_EQ(all.find("hunter2secret"), std::string::npos) << all;
    EXPECT_EQ(all.find("bj_0123"), std::string::npos) << all;
    EXPECT_NE(all.find("key = '***'; token = '***'"), std::string::npos) << all;
}

TEST(AuditEntries, EverySecretOfATextIsMasked) {
    const Redaction redaction({"1234", "12345678"});
    EXPECT_EQ(redaction.clean("1234123412345678 1234", 100), "********* ***");
    EXPECT_EQ(redaction.clean("bj_ bj_abcdefghijklmnop;bj_short;bj_abcdefghijklmnop", 100),
              "bj_ ***;bj_short;***");
    EXPECT_EQ(redaction.clean("", 100), "");
}

TEST(AuditEntries, TextOfOthersIsCutAndMadeValid) {
    RunAccount told = account();
    told.client = std::string(5000, 'x') + "\xff";
    told.address = "\xff\xfe";
    const Entry entry = entry_of(told, result(), Redaction());
    EXPECT_EQ(parsed(entry.personal).at("client").as_string().size(), 1024U);
    EXPECT_EQ(parsed(entry.personal).at("address"), "\uFFFD\uFFFD");
}

TEST(AuditEntries, AnEventHidesNoKeyInItsDetails) {
    const Entry entry = entry_of(execution::SecurityEvent{.kind = "tool",
                                                          .name = "changed",
                                                          .severity = execution::Severity::High,
                                                          .principal = "ada",
                                                          .text = "a tool was changed",
                                                          .details = {{"hash", "abc"}}},
                                 Redaction());
    EXPECT_EQ(entry.kind, "event");
    EXPECT_EQ(entry.personal.text().find("\"hash\":"), std::string::npos);
    EXPECT_NE(entry.personal.text().find(R"(["hash","abc"])"), std::string::npos);
}

TEST(AuditEntries, ADecisionTellsWhoAndWhat) {
    const Entry entry = entry_of(Decision{.what = "createToken",
                                          .target = "POST /v1/admin/tokens",
                                          .outcome = "done",
                                          .status = 201,
                                          .principal = "root",
                                          .left_out = 3},
                                 Redaction());
    EXPECT_EQ(entry.kind, "decision");
    EXPECT_EQ(parsed(entry.body).at("decision"), "createToken");
    EXPECT_EQ(parsed(entry.body).at("http_status"), 201);
    EXPECT_EQ(parsed(entry.body).at("left_out"), 3);
    EXPECT_EQ(parsed(entry.personal).at("principal"), "root");
}

}  // namespace
}  // namespace belljar::audit
