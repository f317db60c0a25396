#include "mcp/text_view.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace belljar::mcp {
namespace {

using execution::RunResult;
using execution::Status;

RunResult ok() { return {.status = Status::Ok, .exit_code = 0}; }

TEST(TextView, SilenceIsSaid) { EXPECT_EQ(text_view(ok()), "(no output)"); }

TEST(TextView, OutputAloneIsLeftAsItIs) {
    RunResult result = ok();
    result.stdout_stream.text = "a\n\nb";
    EXPECT_EQ(text_view(result), "a\n\nb");
}

TEST(TextView, PartsStandInOrder) {
    RunResult result = ok();
    result.status = Status::Error;
    result.exit_code = 3;
    result.stdout_stream.text = "out";
    result.stderr_stream.text = "warn\n";
    result.error = {.type = "ValueError", .message = "no", .line = 4};
    result.result_repr = "42";
    result.denials = {{.what = "connect to 10.0.0.1", .rule = "network", .hint = "Use files."}};
    result.files = {{.name = "a.txt", .size = 3, .sha256 = "1"},
                    {.name = "b", .size = 0, .sha256 = "2"},
                    {.name = "c"}};
    EXPECT_EQ(text_view(result),
              "out\n[stderr]\nwarn\nValueError: no (line 4)\n=> 42\n"
              "Denied: connect to 10.0.0.1 (rule network). Use files.\n"
              "Files written: a.txt (3 bytes), b (0 bytes)\nFiles deleted: c\n"
              "[error] The program ended with exit code 3.");
}

TEST(TextView, WhatTheProgramHasSaidIsNotSaidAgain) {
    RunResult result = ok();
    result.status = Status::Error;
    result.exit_code = 1;
    result.stderr_stream.text = "Traceback:\nValueError: no\n";
    result.error = {.type = "ValueError", .message = "no", .line = 4};
    EXPECT_EQ(text_view(result),
              "[stderr]\nTraceback:\nValueError: no\n"
              "[error] The program ended with exit code 1.");
    EXPECT_NE(text_view(result, execution::OutputForm::Full).find("ValueError: no (line 4)"),
              std::string::npos);
}

TEST(TextView, LongStreamsAreShownInPartUnlessAllIsAskedFor) {
    RunResult result = ok();
    result.stdout_stream.text = "first " + std::string(100'000, 'x') + " last";
    const std::string compact = text_view(result);
    EXPECT_LT(compact.size(), 33'000U);
    EXPECT_TRUE(compact.starts_with("first x"));
    EXPECT_NE(compact.find(" last\n[stdout is shown in part"), std::string::npos);
    EXPECT_EQ(text_view(result, execution::OutputForm::Full), result.stdout_stream.text);
}

TEST(TextView, TextIsCutBetweenCharacters) {
    const std::string text = "äääää";
    for (std::size_t limit = 0; limit <= text.size(); ++limit) {
        EXPECT_TRUE(is_valid_utf8(cut_middle(text, limit))) << limit;
    }
    EXPECT_EQ(cut_middle("abcdef", 4), "ab\n... 2 bytes ...\nef");
}

TEST(TextView, CutStreamsAreFlagged) {
    RunResult result = ok();
    result.stdout_stream = {.text = "a...z", .truncated = true, .bytes = 9000};
    EXPECT_EQ(text_view(result),
              "a...z\n[stdout was cut: the beginning and the end of 9000 bytes are shown; print "
              "less, or only the part you need]");
}

TEST(TextView, TellsWhereTheWholeOutputIs) {
    RunResult result = ok();
    result.stderr_stream = {.text = "a...z", .truncated = true, .bytes = 9000};
    result.full_output = "/v1/runs/x/output";
    EXPECT_TRUE(text_view(result).ends_with("\n[the whole output is kept at /v1/runs/x/output]"));
}

TEST(TextView, TheProgramsOwnWordIsMarked) {
    RunResult result = ok();
    result.denials = {{.what = "tried to write /usr/x",
                       .rule = "files.read_only",
                       .hint = "Only /tmp.",
                       .source = execution::DenialSource::Guest}};
    EXPECT_EQ(text_view(result),
              "Denied, as the program tells: tried to write /usr/x (rule files.read_only). Only "
              "/tmp.");
}

TEST(TextView, EveryOtherStatusEndsWithAdvice) {
    for (const Status status :
         {Status::Error, Status::Timeout, Status::Memory, Status::Processes, Status::Disk,
          Status::Output, Status::Killed, Status::Denied, Status::Cancelled}) {
        const std::string text = text_view(RunResult{.status = status});
        const std::string tag = "[" + std::string(execution::name_of(status)) + "] ";
        EXPECT_TRUE(text.starts_with(tag)) << text;
        EXPECT_TRUE(text.ends_with(".")) << text;
    }
}

TEST(TextView, GuestBytesBecomeValidText) {
    RunResult result = ok();
    result.stdout_stream.text = "\xFF\xFE";
    EXPECT_TRUE(is_valid_utf8(text_view(result)));
}

TEST(TextView, DescribesTheInstallation) {
    const engine::SandboxInfo info{
        .version = "1.2",
        .runners = {{.language = "python", .aliases = {"py", "python3"}, .version = "3.11"}},
        .isolation = {.grade = "B", .tier = "namespaces", .missing = {"landlock"}}};
    EXPECT_EQ(text_view(info),
              "Belljar 1.2\nLanguages:\n- python 3.11 (also py, python3)\n"
              "Default limits: 30 s, 256m memory, 64 processes, 1m inline per output stream\n"
              "Largest limits: 30 s, 256m memory, 64 processes, 1m inline per output stream\n"
              "Isolation: grade B, tier namespaces\n"
              "Isolation layers missing on this host: landlock\nNetwork: none\n"
              "Protocol versions: 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28");
}

}  // namespace
}  // namespace belljar::mcp
