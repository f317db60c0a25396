#include "outcome/result_json.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <set>

#include "base/utf8.h"

namespace belljar::outcome {
namespace {

using execution::RunResult;
using execution::Status;

std::set<std::string> keys_of(const json::object& object) {
    std::set<std::string> keys;
    for (const auto& member : object) {
        keys.emplace(member.key());
    }
    return keys;
}

RunResult full_result() {
    return {
        .execution_id = "e-1",
        .conversation_id = "c-1",
        .session_id = "s-1",
        .language = "python",
        .runner = "cpython",
        .status = Status::Ok,
        .exit_code = 0,
        .signal = 9,
        .stdout_stream = {.text = "out", .truncated = true, .bytes = 100},
        .stderr_stream = {.text = "err", .truncated = false, .bytes = 3},
        .full_output = "belljar://output",
        .result_json = R"({"a":[1,null]})",
        .result_repr = "{'a': [1, None]}",
        .variables = {"x"},
        .outputs = {{.bundle = {{"text/plain", "hi"},
                                {"application/json", "{\"k\":1}"},
                                {"image/png", "\x89PNG"}}}},
        .files = {{.name = "f", .size = 7, .mime = "m", .sha256 = "h", .url = "u", .uri = "i"}},
        .error = execution::GuestError{.type = "E", .message = "m", .line = 3, .traceback = "t"},
        .denials =
            {{.what = "w", .rule = "r", .hint = "h", .source = execution::DenialSource::Kernel}},
        .usage = {.wall = std::chrono::milliseconds(1500),
                  .cpu = std::chrono::milliseconds(250),
                  .memory_peak_bytes = UINT64_MAX,
                  .disk_written_bytes = 2,
                  .processes_peak = 3},
        .isolation = {
            .grade = "standard", .tier = "kernel", .mode = "root", .missing = {"landlock"}}};
}

TEST(ResultJson, HasEveryMemberOfTheRecord) {
    EXPECT_EQ(keys_of(to_json(full_result())), (std::set<std::string>{"execution_id",
                                                                      "conversation_id",
                                                                      "session_id",
                                                                      "language",
                                                                      "runner",
                                                                      "status",
                                                                      "success",
                                                                      "exit_code",
                                                                      "signal",
                                                                      "stdout",
                                                                      "stderr",
                                                                      "stdout_truncated",
                                                                      "stderr_truncated",
                                                                      "stdout_bytes",
                                                                      "stderr_bytes",
                                                                      "full_output",
                                                                      "result",
                                                                      "result_repr",
                                                                      "variables",
                                                                      "outputs",
                                                                      "files",
                                                                      "error",
                                                                      "denials",
                                                                      "usage",
                                                                      "isolation",
                                                                      "execution_time"}));
}

TEST(ResultJson, OptionalMembersAreAbsentAndTheOthersAreNot) {
    EXPECT_EQ(keys_of(to_json(RunResult{})), (std::set<std::string>{"execution_id",
                                                                    "language",
                                                                    "runner",
                                                                    "status",
                                                                    "success",
                                                                    "exit_code",
                                                                    "stdout",
                                                                    "stderr",
                                                                    "stdout_truncated",
                                                                    "stderr_truncated",
                                                                    "stdout_bytes",
                                                                    "stderr_bytes",
                                                                    "result",
                                                                    "result_repr",
                                                                    "variables",
                                                                    "outputs",
                                                                    "files",
                                                                    "denials",
                                                                    "usage",
                                                                    "isolation",
                                                                    "execution_time"}));
    EXPECT_TRUE(to_json(RunResult{}).at("exit_code").is_null());
    EXPECT_TRUE(to_json(RunResult{}).at("result").is_null());
    EXPECT_TRUE(to_json(RunResult{}).at("result_repr").is_null());
}

TEST(ResultJson, SaysTheSimpleMembers) {
    const json::object object = to_json(full_result());
    EXPECT_EQ(object.at("status").as_string(), "ok");
    EXPECT_TRUE(object.at("success").as_bool());
    EXPECT_EQ(object.at("exit_code").as_int64(), 0);
    EXPECT_EQ(object.at("signal").as_int64(), 9);
    EXPECT_EQ(object.at("stdout").as_string(), "out");
    EXPECT_TRUE(object.at("stdout_truncated").as_bool());
    EXPECT_EQ(object.at("stdout_bytes").as_uint64(), 100U);
    EXPECT_EQ(object.at("execution_time").as_double(), 1.5);
    EXPECT_EQ(object.at("variables"), json::value(json::array{"x"}));
}

TEST(ResultJson, SaysTheNestedMembers) {
    const json::value value = to_json(full_result());
    EXPECT_EQ(value.at("result"), parse_json(R"({"a":[1,null]})").value());
    EXPECT_EQ(value.at("outputs").at(0).at("application/json").at("k").as_int64(), 1);
    EXPECT_EQ(value.at("outputs").at(0).at("text/plain").as_string(), "hi");
    EXPECT_EQ(value.at("files").at(0), parse_json(R"({"name":"f","change":"created","size":7,)"
                                                  R"("mime":"m","sha256":"h","url":"u","uri":"i"})")
                                           .value());
    EXPECT_EQ(value.at("error"),
              parse_json(R"({"type":"E","message":"m","line":3,"traceback":"t"})").value());
    EXPECT_EQ(value.at("denials").at(0),
              parse_json(R"({"what":"w","rule":"r","hint":"h","source":"kernel"})").value());
    EXPECT_EQ(value.at("usage").at("wall_seconds").as_double(), 1.5);
    EXPECT_EQ(value.at("usage").at("cpu_seconds").as_double(), 0.25);
    EXPECT_EQ(value.at("usage").at("memory_peak_bytes").as_uint64(), UINT64_MAX);
    EXPECT_EQ(value.at("usage").at("disk_written_bytes").as_uint64(), 2U);
    EXPECT_EQ(value.at("usage").at("processes_peak").as_uint64(), 3U);
    EXPECT_EQ(
        value.at("isolation"),
        parse_json(R"({"grade":"standard","tier":"kernel","mode":"root","missing":["landlock"]})")
            .value());
}

TEST(ResultJson, TellsWhereTheTimeWentIfThatIsAskedFor) {
    RunResult result{.timing = {.admission = std::chrono::milliseconds(1),
                                .jar = std::chrono::milliseconds(2),
                                .guest_start = std::chrono::milliseconds(3),
                                .run = std::chrono::microseconds(2500),
                                .collect = std::chrono::milliseconds(4),
                                .record = std::chrono::milliseconds(5),
                                .jar_ready = true}};
    EXPECT_FALSE(to_json(result).contains("debug"));
    result.debug = true;
    const json::object debug = to_json(result).at("debug").as_object();
    EXPECT_DOUBLE_EQ(debug.at("admission_milliseconds").as_double(), 1);
    EXPECT_DOUBLE_EQ(debug.at("jar_milliseconds").as_double(), 2);
    EXPECT_DOUBLE_EQ(debug.at("run_milliseconds").as_double(), 2.5);
    EXPECT_DOUBLE_EQ(debug.at("guest_start_milliseconds").as_double(), 3);
    EXPECT_DOUBLE_EQ(debug.at("collect_milliseconds").as_double(), 4);
    EXPECT_DOUBLE_EQ(debug.at("record_milliseconds").as_double(), 5);
    EXPECT_TRUE(debug.at("jar_ready").as_bool());
}

TEST(ResultJson, IsTheSameAfterParsing) {
    const json::value value = to_json(full_result());
    EXPECT_EQ(to_text(parse_json(to_text(value)).value()), to_text(value));
}

TEST(ResultJson, OnlyOkIsSuccess) {
    for (int status = 0; status <= static_cast<int>(Status::Cancelled); ++status) {
        const RunResult result{.status = static_cast<Status>(status)};
        EXPECT_EQ(to_json(result).at("success").as_bool(), result.status == Status::Ok);
    }
}

TEST(ResultJson, AnErrorWithoutLineAndTraceback) {
    RunResult result;
    result.error = execution::GuestError{.type = "E", .message = "m"};
    EXPECT_EQ(to_json(result).at("error"), parse_json(R"({"type":"E","message":"m"})").value());
}

// Everything that can come from a guest, as bytes that are no text.
TEST(ResultJson, ReplacesInvalidUtf8) {
    const std::string bad = "a\xFF\xC3z";
    RunResult result{.language = bad,
                     .stdout_stream = {.text = bad},
                     .stderr_stream = {.text = bad},
                     .result_json = bad,
                     .result_repr = bad,
                     .variables = {bad},
                     .outputs = {{.bundle = {{bad, bad}}}},
                     .files = {{.name = bad, .uri = bad}},
                     .error = execution::GuestError{.type = bad, .message = bad, .traceback = bad},
                     .denials = {{.what = bad}}};
    const std::string text = to_text(to_json(result));
    EXPECT_TRUE(is_valid_utf8(text));
    EXPECT_TRUE(parse_json(text));
    EXPECT_EQ(to_json(result).at("stdout").as_string(), "a\xEF\xBF\xBD\xEF\xBF\xBDz");
}

TEST(ResultJson, AValueThatIsNoJsonIsShownAsText) {
    for (const std::string& text : {"NaN", "{", "Infinity", "1 2", "\"a"}) {
        EXPECT_EQ(to_json(RunResult{.result_json = text}).at("result").as_string(), text);
    }
    EXPECT_EQ(to_json(RunResult{.result_json = "\"a\""}).at("result").as_string(), "a");
    EXPECT_TRUE(to_json(RunResult{.result_json = "null"}).at("result").is_null());
}

TEST(ResultJson, IsJsonWhateverTheValue) {
    for (const std::string& text :
         {std::string("1e400"), std::string("[-1e400]"),
          std::string(64, '[') + std::string(64, ']'), std::string(65, '[') + std::string(65, ']'),
          std::string("\"\\u0000\"")}) {
        const std::string json = to_text(to_json(RunResult{.result_json = text}));
        EXPECT_NE(json.find("\"result\":"), std::string::npos);
        EXPECT_EQ(json.find("Infinity"), std::string::npos) << json;
    }
}

TEST(LimitsJson, SaysWhatIsAllowed) {
    const json::object object = to_json(execution::Limits{});
    EXPECT_EQ(object.at("timeout_seconds").as_double(), 30.0);
    EXPECT_EQ(object.at("memory_bytes").as_uint64(), mebibytes(256).count);
    EXPECT_EQ(object.at("cpu").as_double(), 0.5);
    EXPECT_EQ(object.at("processes").to_number<int>(), 64);
    EXPECT_EQ(object.at("output_bytes").as_uint64(), mebibytes(1).count);
    EXPECT_EQ(object.at("output_file_bytes").as_uint64(), mebibytes(64).count);
    EXPECT_EQ(object.at("tmp_bytes").as_uint64(), mebibytes(64).count);
    EXPECT_EQ(object.at("workspace_bytes").as_uint64(), gibibytes(1).count);
}

}  // namespace
}  // namespace belljar::outcome
