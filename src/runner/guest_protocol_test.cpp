#include "runner/guest_protocol.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/json.h"

namespace belljar::runner {
namespace {

using execution::Report;
using execution::RunResult;
using execution::Status;

RunResult reported(std::string_view report) {
    RunResult result{.execution_id = "id", .status = Status::Ok, .exit_code = 0};
    apply_guest_report({.text = report}, result);
    return result;
}

// Whatever the report says, these stay as the outside has seen them.
void expect_untouched(const RunResult& result, std::string_view report) {
    EXPECT_EQ(result.execution_id, "id") << report;
    EXPECT_EQ(result.status, Status::Ok) << report;
    EXPECT_EQ(result.exit_code, 0) << report;
    EXPECT_TRUE(result.denials.empty()) << report;
    EXPECT_TRUE(result.stdout_stream.text.empty()) << report;
}

void expect_nothing(std::string_view report) {
    const RunResult result = reported(report);
    expect_untouched(result, report);
    EXPECT_FALSE(result.result_json) << report;
    EXPECT_FALSE(result.result_repr) << report;
    EXPECT_FALSE(result.error) << report;
    EXPECT_TRUE(result.variables.empty()) << report;
}

TEST(GuestRequest, CarriesEverythingTheBootstrapNeeds) {
    const execution::RunRequest request{.code = "print('h\xC3\xA9')\n",
                                        .arguments = {"a", "", "b c"},
                                        .environment = {{"KEY", "value=1"}},
                                        .files = {{"d/x.bin", std::string("\0\xFF", 2)}},
                                        .allowed_imports = std::vector<std::string>{"math"},
                                        .reading = std::make_shared<execution::ReadingOrder>(
                                            execution::ReadingOrder{.stops = {"code.eval"}})};
    const json::value value = parse_json(encode_guest_request(request, "mark")).value();
    EXPECT_EQ(value.at("code").as_string(), "print('h\xC3\xA9')\n");
    EXPECT_EQ(value.at("args"), json::value({"a", "", "b c"}));
    EXPECT_EQ(value.at("env").at("KEY").as_string(), "value=1");
    EXPECT_EQ(value.at("files").at("d/x.bin").as_string(), "AP8=");
    EXPECT_EQ(value.at("allowed_imports"), json::value(json::array{"math"}));
    EXPECT_EQ(value.at("reading").at("stops"), json::value(json::array{"code.eval"}));
}

TEST(GuestRequest, AnEmptyRequestHasEveryMember) {
    const json::value value = parse_json(encode_guest_request({}, "")).value();
    EXPECT_EQ(value.at("code").as_string(), "");
    EXPECT_TRUE(value.at("args").as_array().empty());
    EXPECT_TRUE(value.at("env").as_object().empty());
    EXPECT_TRUE(value.at("files").as_object().empty());
    EXPECT_TRUE(value.at("allowed_imports").is_null());
    EXPECT_TRUE(value.at("reading").is_null());
}

TEST(GuestRequest, OneArgumentIsStillAList) {
    const json::value value = parse_json(encode_guest_request({.arguments = {"a"}}, "")).value();
    EXPECT_EQ(value.at("args"), json::value(json::array{"a"}));
}

TEST(GuestReport, IsReadIntoTheResult) {
    const RunResult result = reported(
        R"({"result":{"a":[1,2.5,null]},"repr":"{'a': ...}","variables":["x","y"],)"
        R"("error":{"type":"ValueError","message":"bad","line":3,"traceback":"Traceback"}})");
    EXPECT_EQ(parse_json(result.result_json.value()).value(),
              parse_json(R"({"a":[1,2.5,null]})").value());
    EXPECT_EQ(result.result_repr, "{'a': ...}");
    EXPECT_EQ(result.variables, (std::vector<std::string>{"x", "y"}));
    ASSERT_TRUE(result.error);
    EXPECT_EQ(result.error->type, "ValueError");
    EXPECT_EQ(result.error->message, "bad");
    EXPECT_EQ(result.error->line, 3);
    EXPECT_EQ(result.error->traceback, "Traceback");
    expect_untouched(result, "a full report");
}

TEST(GuestReport, ThatIsNoJsonObjectIsLeftOut) {
    for (const std::string_view report :
         {"", " ", "null", "1", "\"text\"", "[]", "{", "{}x", "{\"repr\":\"\xFF\"}", "\xFF\xFE",
          "Traceback (most recent call last):", R"({"repr":"a","repr":"b"})", "{}"}) {
        expect_nothing(report);
    }
    expect_nothing(std::string_view("{}\0", 3));
}

TEST(GuestReport, MembersOfTheWrongTypeAreLeftOut) {
    for (const std::string_view report :
         {R"({"result":null,"repr":1,"variables":"x","error":"bad"})",
          R"({"repr":null,"variables":{},"error":[]})",
          R"({"repr":["a"],"variables":1,"error":true})",
          R"({"repr":{"a":1},"variables":null,"error":null})"}) {
        expect_nothing(report);
    }
}

TEST(GuestReport, OneBadMemberDoesNotCostTheOthers) {
    const RunResult result =
        reported(R"({"repr":5,"variables":["a",1,null,"b",["c"]],"result":false})");
    EXPECT_EQ(result.result_json, "false");
    EXPECT_FALSE(result.result_repr);
    EXPECT_EQ(result.variables, (std::vector<std::string>{"a", "b"}));
}

TEST(GuestReport, CannotClaimAnotherOutcome) {
    const RunResult result = reported(
        R"({"status":"timeout","success":false,"exit_code":9,"execution_id":"other",
            "stdout":"forged","denials":[{"what":"x"}],"isolation":{"grade":"full"}})");
    expect_untouched(result, "a forged outcome");
    EXPECT_TRUE(result.isolation.grade.empty());
}

TEST(GuestReport, AnErrorWithoutItsPartsIsStillAnError) {
    const RunResult result = reported(R"({"error":{}})");
    ASSERT_TRUE(result.error);
    EXPECT_EQ(result.error->type, "Error");
    EXPECT_EQ(result.error->message, "");
    EXPECT_FALSE(result.error->line);
    EXPECT_FALSE(result.error->traceback);
}

TEST(GuestReport, AnAbsurdLineIsLeftOut) {
    for (const std::string_view line :
         {"0", "-1", "1.5", "\"3\"", "null", "[]", "1000000000", "9223372036854775807",
          "18446744073709551615", "1e400", "true"}) {
        const RunResult result =
            reported(R"({"error":{"type":"E","line":)" + std::string(line) + "}}");
        ASSERT_TRUE(!result.error || !result.error->line) << line;
    }
    EXPECT_EQ(reported(R"({"error":{"line":999999999}})").error->line, 999'999'999);
}

TEST(GuestReport, TellsWhatTheSystemRefused) {
    const RunResult result = reported(R"({"error":{"type":"OSError","errno":30,"path":"/usr/x"}})");
    ASSERT_TRUE(result.error);
    EXPECT_EQ(result.error->sys_errno, 30);
    EXPECT_EQ(result.error->path, "/usr/x");
    EXPECT_EQ(reported(R"({"error":{"errno":-2}})").error->sys_errno, -2);
    expect_untouched(result, "a refusal");
}

TEST(GuestReport, AnAbsurdErrorNumberIsLeftOut) {
    for (const std::string_view number :
         {"4097", "-4097", "-9223372036854775808", "9223372036854775807", "18446744073709551615",
          "1.5", "\"13\"", "null", "[13]"}) {
        const RunResult result =
            reported(R"({"error":{"type":"E","path":5,"errno":)" + std::string(number) + "}}");
        ASSERT_TRUE(result.error) << number;
        EXPECT_FALSE(result.error->sys_errno) << number;
        EXPECT_FALSE(result.error->path) << number;
    }
}

TEST(GuestReport, HugeListsAreBounded) {
    std::string report = R"({"variables":["v")";
    for (int index = 0; index < 100'000; ++index) {
        report += ",\"v\"";
    }
    EXPECT_EQ(reported(report + "]}").variables.size(), 1000U);
}

TEST(GuestReport, HugeTextsAreTaken) {
    const std::string text(1 << 20U, 't');
    EXPECT_EQ(reported("{\"repr\":\"" + text + "\"}").result_repr, text);
    expect_nothing("{\"repr\":\"" + text);
}

TEST(GuestReport, DeepNestingIsLeftOut) {
    expect_nothing("{\"result\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}");
    expect_nothing("{\"result\":" + std::string(100'000, '['));
}

TEST(GuestReport, EveryResultValueIsJsonAgain) {
    for (const std::string_view value : {"0", "-0.0", "1e308", "1e400", "[-1e400]", "\"\\u0000\"",
                                         "18446744073709551615", "{\"\":{}}", "false"}) {
        const RunResult result = reported("{\"result\":" + std::string(value) + "}");
        EXPECT_TRUE(!result.result_json || parse_json(*result.result_json)) << value;
    }
}

RunResult marked(std::string_view report) {
    RunResult result{.execution_id = "id", .status = Status::Ok, .exit_code = 0};
    apply_guest_report({.text = report, .mark = "secret"}, result);
    expect_untouched(result, report);
    return result;
}

TEST(GuestReport, IsTakenOnlyWithItsMark) {
    const RunResult whole = marked("\n{\"mark\":\"secret\",\"result\":1}\n");
    EXPECT_EQ(whole.report, Report::Whole);
    EXPECT_EQ(whole.result_json, "1");
    for (const std::string_view forged :
         {"\n{\"result\":1}\n", "\n{\"mark\":\"other\",\"result\":1}\n",
          "\n{\"mark\":5,\"result\":1}\n", "\nx{\"mark\":\"secret\",\"result\":1}\n",
          "\n\n{\"mark\":\"secret\",\"result\":1}\n", "\n{\"mark\":\"secret\",\"result\":1}\nmore",
          "\n{\"mark\":\"secret\",\"result\":1}\n{\"mark\":\"secret\",\"result\":2}\n",
          "\n{\"mark\":\"secret\",\"result\":1"}) {
        const RunResult result = marked(forged);
        EXPECT_EQ(result.report, Report::Damaged) << forged;
        EXPECT_FALSE(result.result_json) << forged;
    }
}

TEST(GuestReport, ThatNeverCameIsMissing) {
    EXPECT_EQ(marked("\n").report, Report::Missing);
    EXPECT_EQ(marked("").report, Report::Whole) << "a runner that has no report";
}

TEST(GuestReport, OutputsAreTheBytesAfterTheLine) {
    const RunResult result = reported(
        "{\"outputs\":[[[\"text/plain\",2],[\"application/json\",7]],[[\"image/png\",9]]]}\n"
        "hi{\"a\":1}\x89PNG\r\n\x1A\n!");
    EXPECT_EQ(result.report, Report::Whole);
    ASSERT_EQ(result.outputs.size(), 2U);
    EXPECT_EQ(result.outputs[0].bundle.at("text/plain"), "hi");
    EXPECT_EQ(result.outputs[0].bundle.at("application/json"), "{\"a\":1}");
    EXPECT_EQ(result.outputs[1].bundle.at("image/png"), "\x89PNG\r\n\x1A\n!");
    EXPECT_EQ(result.outputs_omitted, 0U);
}

TEST(GuestReport, OutputsThatAreNotTheBytesThereAreDamageIt) {
    for (const std::string_view line :
         {R"({"outputs":[[["text/plain",3]]]})", R"({"outputs":[[["text/plain",1]]]})",
          R"({"outputs":[[["text/plain",-2]]]})", R"({"outputs":[[["text/plain",2.0]]]})",
          R"({"outputs":[[["text/plain"]]]})", R"({"outputs":[[[2,"text/plain"]]]})",
          R"({"outputs":[["text/plain",2]]})", R"({"outputs":{}})", R"({"outputs":[5]})", "{}",
          R"({"outputs":[[["text/plain",9223372036854775807],["text/plain",2]]]})"}) {
        const RunResult result = reported(std::string(line) + "\nhi");
        EXPECT_EQ(result.report, Report::Damaged) << line;
        EXPECT_TRUE(result.outputs.empty()) << line;
    }
}

// One output of this type and content; how many were left out.
std::uint64_t omitted(const std::string& mime, const std::string& data) {
    const std::string line = R"({"result":1,"outputs":[[[)" + to_text(json::string(mime)) + "," +
                             std::to_string(data.size()) + "]]]}\n";
    const RunResult result = reported(line + data);
    EXPECT_EQ(result.report, Report::Whole) << mime;
    EXPECT_EQ(result.result_json, "1") << mime;
    EXPECT_EQ(result.outputs.size() + result.outputs_omitted, 1U) << mime;
    return result.outputs_omitted;
}

TEST(GuestReport, OutputsThatAreNotWhatTheySayAreLeftOut) {
    for (const std::string mime :
         {"", "/", "text", "text/", "/plain", "Text/plain", "text/plain;x=1", "text/pl ain",
          "text/p\nq", "a/b/c", "text/+x", "text/\xC3\xA9"}) {
        EXPECT_EQ(omitted(mime, "x"), 1U) << mime;
    }
    EXPECT_EQ(omitted("text/" + std::string(200, 'x'), "x"), 1U);
    EXPECT_EQ(omitted("text/html", "\xFF"), 1U);
    EXPECT_EQ(omitted("image/svg+xml", "\xFF"), 1U);
    EXPECT_EQ(omitted("application/json", "{"), 1U);
    EXPECT_EQ(omitted("application/json", std::string(100, '[') + std::string(100, ']')), 1U);
    EXPECT_EQ(omitted("application/json", "\"" + std::string(2 << 20, 'x') + "\""), 1U);
    EXPECT_EQ(omitted("image/png", "GIF89a"), 1U);
    EXPECT_EQ(omitted("image/jpeg", "x"), 1U);
    EXPECT_EQ(omitted("text/html", std::string((8 << 20) + 1, 'x')), 1U);
    EXPECT_EQ(omitted("text/html", std::string(8 << 20, 'x')), 0U);
    EXPECT_EQ(omitted("application/octet-stream", "\xFF"), 0U);
    EXPECT_EQ(omitted("application/vnd.x-y_z.v1+json", "{}"), 0U);
}

TEST(GuestReport, ThereIsALimitOnOutputs) {
    std::string line = R"({"omitted":5,"outputs":[)";
    for (int i = 0; i < 70; ++i) {
        line += i == 0 ? "" : ",";
        line += R"([["text/plain",1]])";
    }
    const RunResult result = reported(line + "]}\n" + std::string(70, 'x'));
    EXPECT_EQ(result.outputs.size(), 64U);
    EXPECT_EQ(result.outputs_omitted, 11U);
}

}  // namespace
}  // namespace belljar::runner
