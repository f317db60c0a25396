#include "engine/run_arguments.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>

namespace belljar::engine {
namespace {

using execution::RunRequest;
using std::chrono::milliseconds;
using std::chrono::seconds;

Result<RunRequest> parse(const std::string& text) {
    return parse_run_arguments(parse_json(text).value().as_object());
}

// The request for {"code":"x", <members>}.
RunRequest request_with(const std::string& members) {
    const Result<RunRequest> request = parse("{\"code\":\"x\"," + members + "}");
    EXPECT_TRUE(request) << members << ": " << request.error().message;
    return request.value_or(RunRequest{});
}

Error error_with(const std::string& members) {
    const Result<RunRequest> request = parse("{\"code\":\"x\"," + members + "}");
    EXPECT_FALSE(request) << members;
    return request ? Error{} : request.error();
}

void expect_invalid(const std::string& members, std::string_view named) {
    const Error error = error_with(members);
    EXPECT_EQ(error.code, ErrorCode::InvalidArgument) << members;
    EXPECT_NE(error.message.find("\"" + std::string(named) + "\""), std::string::npos)
        << members << ": " << error.message;
}

TEST(RunArguments, CodeAloneIsEnough) {
    const RunRequest request = parse(R"({"code":"print(1)\n"})").value();
    EXPECT_EQ(request.code, "print(1)\n");
    EXPECT_EQ(request.language, "python");
    EXPECT_FALSE(request.timeout);
    EXPECT_FALSE(request.memory);
    EXPECT_TRUE(request.stdin_text.empty());
    EXPECT_TRUE(request.arguments.empty());
    EXPECT_TRUE(request.environment.empty());
    EXPECT_TRUE(request.files.empty());
    EXPECT_EQ(parse(R"({"code":""})").value().code, "");
}

TEST(RunArguments, CodeIsRequired) {
    for (const std::string& text : {"{}", R"({"language":"python"})", R"({"Code":"x"})"}) {
        const Result<RunRequest> request = parse(text);
        ASSERT_FALSE(request) << text;
        EXPECT_EQ(request.error().code, ErrorCode::InvalidArgument);
        EXPECT_NE(request.error().message.find("\"code\""), std::string::npos);
    }
}

TEST(RunArguments, ReadsEveryArgument) {
    const RunRequest request = request_with(
        R"("language":"py","timeout":1.5,"memory_limit":"64m","stdin":"in","args":["a",""],)"
        R"("env":{"K":"v=w","E":""},"files":{"d/a.txt":"text","b.bin":{"base64":"AP8="}})");
    EXPECT_EQ(request.language, "py");
    EXPECT_EQ(request.timeout, Duration(milliseconds(1500)));
    EXPECT_EQ(request.memory, mebibytes(64));
    EXPECT_EQ(request.stdin_text, "in");
    EXPECT_EQ(request.arguments, (std::vector<std::string>{"a", ""}));
    EXPECT_EQ(request.environment, (std::map<std::string, std::string>{{"K", "v=w"}, {"E", ""}}));
    EXPECT_EQ(request.files, (std::map<std::string, std::string>{
                                 {"d/a.txt", "text"}, {"b.bin", std::string("\0\xFF", 2)}}));
}

TEST(RunArguments, RefusesEveryWrongType) {
    const std::map<std::string, std::vector<std::string>> wrong{
        {"language", {"1", "null", "[]", "{}", "true"}},
        {"timeout", {"\"1\"", "null", "[]", "true", "{}"}},
        {"memory_limit", {"256", "null", "[]", "true", "{}"}},
        {"stdin", {"1", "null", "[\"a\"]", "{}"}},
        {"args", {"\"a\"", "null", "{}", "1", "[1]", "[\"a\",null]", "[[]]"}},
        {"env", {"\"a\"", "null", "[]", "1", R"({"A":1})", R"({"A":null})", R"({"A":["b"]})"}},
        {"files",
         {"\"a\"", "null", "[]", "1", R"({"a":1})", R"({"a":null})", R"({"a":{}})",
          R"({"a":{"base64":1}})", R"({"a":{"text":"x"}})", R"({"a":{"base64":"","x":1}})"}}};
    for (const auto& [name, values] : wrong) {
        for (const std::string& value : values) {
            expect_invalid("\"" + name + "\":" + value, name);
        }
    }
    for (const std::string& value : {"1", "null", "[]", "{}", "true"}) {
        EXPECT_NE(parse("{\"code\":" + value + "}").error().message.find("\"code\""),
                  std::string::npos);
    }
}

TEST(RunArguments, SaysWhatWasFoundInstead) {
    EXPECT_EQ(error_with("\"stdin\":[1]").message, "\"stdin\" must be a string, not an array");
    EXPECT_EQ(error_with("\"timeout\":\"5\"").message,
              "\"timeout\" must be a number of seconds, not a string");
}

TEST(RunArguments, RefusesNulBytesWhereNoProgramCanReceiveThem) {
    EXPECT_FALSE(parse(R"({"code":"a\u0000b"})"));
    expect_invalid(R"("language":"py\u0000")", "language");
    expect_invalid(R"("args":["a\u0000"])", "args");
    expect_invalid(R"("env":{"A\u0000":"x"})", "env");
    expect_invalid(R"("env":{"A":"x\u0000"})", "env");
    expect_invalid(R"("files":{"a\u0000b":"x"})", "files");
    EXPECT_EQ(request_with(R"("stdin":"a\u0000b")").stdin_text, std::string_view("a\0b", 3));
    EXPECT_EQ(request_with(R"("files":{"a":"\u0000"})").files.at("a"), std::string_view("\0", 1));
}

TEST(RunArguments, TimeoutsArePositiveAndCountable) {
    EXPECT_EQ(request_with("\"timeout\":30").timeout, Duration(seconds(30)));
    EXPECT_EQ(request_with("\"timeout\":0.001").timeout, Duration(milliseconds(1)));
    EXPECT_EQ(request_with("\"timeout\":18446744073709551615").timeout,
              Duration(seconds(1'000'000'000)));
    EXPECT_EQ(request_with("\"timeout\":1e300").timeout, Duration(seconds(1'000'000'000)));
    for (const std::string& value : {"0", "-1", "-0.0", "-1e300", "-9223372036854775808"}) {
        expect_invalid("\"timeout\":" + value, "timeout");
    }
}

TEST(RunArguments, MemoryIsASizeWithAUnit) {
    EXPECT_EQ(request_with("\"memory_limit\":\"1g\"").memory, gibibytes(1));
    EXPECT_EQ(request_with("\"memory_limit\":\"268435456\"").memory, mebibytes(256));
    for (const std::string& value : {"\"\"", "\"lots\"", "\"-1m\"", "\"1.5g\"", "\"99999999t\""}) {
        expect_invalid("\"memory_limit\":" + value, "memory_limit");
    }
}

TEST(RunArguments, CpuIsANumberOfCores) {
    EXPECT_EQ(request_with("\"cpu\":0.5").cpu, 0.5);
    EXPECT_EQ(request_with("\"cpu\":2").cpu, 2.0);
    for (const std::string& value : {"\"1\"", "null", "[]", "true"}) {
        expect_invalid("\"cpu\":" + value, "cpu");
    }
}

TEST(RunArguments, ProcessesAreAWholeNumber) {
    EXPECT_EQ(request_with("\"processes\":7").processes, 7U);
    EXPECT_EQ(request_with("\"processes\":18446744073709551615").processes, UINT64_MAX);
    for (const std::string& value : {"-1", "1.5", "1e3", "\"7\"", "null", "true"}) {
        expect_invalid("\"processes\":" + value, "processes");
    }
}

TEST(RunArguments, OutputIsASizeOrANumberOfBytes) {
    EXPECT_EQ(request_with("\"max_output\":\"64k\"").output, kibibytes(64));
    EXPECT_EQ(request_with("\"max_output\":100").output, Bytes{100});
    for (const std::string& value : {"-1", "1.5", "\"much\"", "null", "true", "[]"}) {
        expect_invalid("\"max_output\":" + value, "max_output");
    }
}

TEST(RunArguments, VariablesHaveUsableNames) {
    for (const std::string& name : {"", "A=B", "=", "A="}) {
        expect_invalid("\"env\":{\"" + name + "\":\"x\"}", "env");
    }
    EXPECT_EQ(request_with(R"("env":{"a-b.c d":"x"})").environment.size(), 1U);
}

TEST(RunArguments, PathsStayBelowTheWorkspace) {
    for (const std::string& path :
         {"", "/", "/etc/passwd", "..", "../x", "a/..", "a/../b", "a/../../b", ".", "./a", "a/.",
          "a/./b", "a//b", "a/", "//", "../../../../etc/passwd", "a/b/../../../c"}) {
        expect_invalid("\"files\":{\"" + path + "\":\"x\"}", "files");
    }
    for (const std::string& path : {"a", "a/b/c", "...", "..a", "a..", ".hidden", "a b", "a\\\\b",
                                    "h\xC3\xA9", "-rf", "~", "a/...", "%2e%2e/x"}) {
        EXPECT_EQ(request_with("\"files\":{\"" + path + "\":\"x\"}").files.size(), 1U) << path;
    }
}

TEST(RunArguments, PathsAreBounded) {
    EXPECT_EQ(request_with("\"files\":{\"" + std::string(255, 'a') + "\":\"\"}").files.size(), 1U);
    expect_invalid("\"files\":{\"" + std::string(256, 'a') + "\":\"\"}", "files");
    std::string deep = "a";
    while (deep.size() + 2 <= 1024) {
        deep += "/a";
    }
    EXPECT_EQ(request_with("\"files\":{\"" + deep + "\":\"\"}").files.size(), 1U);
    expect_invalid("\"files\":{\"" + deep + "/a\":\"\"}", "files");
}

TEST(RunArguments, FilesMayBeBase64) {
    EXPECT_EQ(request_with(R"("files":{"a":{"base64":""}})").files.at("a"), "");
    for (const std::string& text : {"A", "AA=", "A===", "AP8", "!!!!", "AP8=\\n"}) {
        const Error error = error_with(R"("files":{"a":{"base64":")" + text + "\"}}");
        EXPECT_EQ(error.code, ErrorCode::InvalidArgument) << text;
        EXPECT_NE(error.message.find("base64"), std::string::npos);
    }
}

TEST(RunArguments, ListsAreBounded) {
    json::array arguments;
    json::object variables;
    json::object files;
    for (int index = 0; index < 1024; ++index) {
        arguments.emplace_back("a");
        variables["V" + std::to_string(index)] = "x";
        files["f" + std::to_string(index)] = "x";
    }
    json::object all{{"code", "x"},
                     {"args", arguments},
                     {"env", variables},
                     {"files", files},
                     {"allowed_imports", arguments}};
    EXPECT_TRUE(parse_run_arguments(all));
    arguments.emplace_back("a");
    variables["more"] = "x";
    files["more"] = "x";
    EXPECT_FALSE(parse_run_arguments({{"code", "x"}, {"args", arguments}}));
    EXPECT_FALSE(parse_run_arguments({{"code", "x"}, {"allowed_imports", arguments}}));
    EXPECT_FALSE(parse_run_arguments({{"code", "x"}, {"env", variables}}));
    EXPECT_FALSE(parse_run_arguments({{"code", "x"}, {"files", files}}));
}

TEST(RunArguments, AllowedImportsAreNamesOfTopLevelModules) {
    EXPECT_FALSE(request_with("\"allowed_imports\":null").allowed_imports);
    const RunRequest request = request_with("\"allowed_imports\":[\"math\",\"_a1\",\"h\xC3\xA9\"]");
    EXPECT_EQ(request.allowed_imports, (std::vector<std::string>{"math", "_a1", "h\xC3\xA9"}));
    EXPECT_EQ(request_with("\"allowed_imports\":[]").allowed_imports, std::vector<std::string>{})
        << "none at all";
    const std::string too_long = "[\"" + std::string(256, 'a') + "\"]";
    for (const std::string& value :
         {std::string("\"math\""), std::string("true"), std::string("{}"), std::string("[1]"),
          std::string("[null]"), std::string("[\"\"]"), std::string("[\"os.path\"]"),
          std::string("[\"a b\"]"), std::string("[\"math\",\"*\"]"), std::string(R"(["a\u0000"])"),
          too_long}) {
        expect_invalid("\"allowed_imports\":" + value, "allowed_imports");
    }
}

TEST(RunArguments, AContainerIsNoLessThanEveryRunHas) {
    for (const std::string& value : {"true", "false", "null"}) {
        request_with("\"use_container\":" + value);
    }
    for (const std::string& value : {"1", "\"true\"", "[]", "{}"}) {
        expect_invalid("\"use_container\":" + value, "use_container");
    }
}

TEST(RunArguments, DebugIsAskedFor) {
    EXPECT_TRUE(request_with("\"debug\":true").debug);
    EXPECT_FALSE(request_with("\"debug\":false").debug);
    EXPECT_FALSE(request_with("\"debug\":null").debug);
    for (const std::string& value : {"1", "\"true\"", "[]", "{}"}) {
        expect_invalid("\"debug\":" + value, "debug");
    }
}

TEST(RunArguments, SessionsAreAskedFor) {
    EXPECT_TRUE(request_with("\"session\":true").session);
    EXPECT_FALSE(request_with("\"session\":false").session);
    EXPECT_EQ(request_with("\"session_id\":\"a-1\"").session_id, "a-1");
    EXPECT_EQ(request_with("\"session_id\":null").session_id, std::nullopt);
    for (const std::string& name : {"conversation_id", "conversationId"}) {
        const std::string given = "\"" + name + "\":\"talk:1\"";
        EXPECT_EQ(request_with("\"session\":true," + given).conversation_id, "talk:1");
        EXPECT_EQ(request_with(given).conversation_id, "talk:1");
        EXPECT_EQ(request_with("\"" + name + "\":\"../ä b\"").conversation_id, "../ä b");
        expect_invalid("\"" + name + "\":1", name);
        expect_invalid("\"" + name + "\":\"a\\u0000b\"", name);
        for (const std::string& value :
             {std::string(), std::string("a\\nb"), std::string(257, 'x')}) {
            expect_invalid("\"" + name + "\":\"" + value + "\"", "conversation_id");
        }
    }
    EXPECT_TRUE(request_with("\"language\":\"python\"").language_given);
    EXPECT_FALSE(request_with("\"debug\":false").language_given);
}

TEST(RunArguments, OutputHasTwoForms) {
    using execution::OutputForm;
    EXPECT_EQ(request_with("\"output\":\"full\"").output_form, OutputForm::Full);
    EXPECT_EQ(request_with("\"output\":\"compact\"").output_form, OutputForm::Compact);
    EXPECT_EQ(request_with("\"output\":null").output_form, OutputForm::Compact);
    for (const std::string& value : {"1", "\"pretty\"", "true", "[]"}) {
        expect_invalid("\"output\":" + value, "output");
    }
}

TEST(RunArguments, FixedArgumentsAreAcceptedWithTheirDefault) {
    const std::map<std::string, std::string> defaults{{"capture_output", "true"},
                                                      {"profile", "\"standard\""},
                                                      {"network", "false"},
                                                      {"output", "\"compact\""}};
    for (const auto& [name, value] : defaults) {
        request_with("\"" + name + "\":" + value);
        request_with("\"" + name + "\":null");
    }
}

TEST(RunArguments, FixedArgumentsAreRefusedOtherwise) {
    const std::map<std::string, std::vector<std::string>> refused{
        {"capture_output", {"false", "1"}}};
    for (const auto& [name, values] : refused) {
        for (const std::string& value : values) {
            const Error error = error_with("\"" + name + "\":" + value);
            EXPECT_EQ(error.code, ErrorCode::Unsupported) << name << value;
            EXPECT_NE(error.message.find("\"" + name + "\""), std::string::npos);
        }
    }
}

TEST(RunArguments, WhatPolicyDecidesIsOnlyRead) {
    EXPECT_EQ(request_with("\"profile\":\"basic\"").profile, "basic");
    EXPECT_FALSE(request_with("\"profile\":null").profile);
    EXPECT_TRUE(request_with("\"network\":true").network);
    EXPECT_FALSE(request_with("\"network\":false").network);
    for (const std::string& value : {"1", "\"\"", "[]"}) {
        expect_invalid("\"profile\":" + value, "profile");
    }
    for (const std::string& value : {"1", "\"true\"", "[]"}) {
        expect_invalid("\"network\":" + value, "network");
    }
}

TEST(RunArguments, UnknownArgumentsAreRefusedByName) {
    const Error error = error_with("\"timeuot\":5");
    EXPECT_EQ(error.code, ErrorCode::InvalidArgument);
    EXPECT_NE(error.message.find("\"timeuot\""), std::string::npos);
    EXPECT_NE(error.message.find("timeout"), std::string::npos) << "says what is allowed";
    EXPECT_LT(error_with("\"" + std::string(10'000, 'x') + "\":5").message.size(), 300U);
}

}  // namespace
}  // namespace belljar::engine
