#include "runner/session_protocol.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <boost/json/object.hpp>

namespace belljar::runner {
namespace {

json::object parsed(const std::string& line) {
    EXPECT_TRUE(line.ends_with('\n'));
    EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line";
    return parse_json(line.substr(0, line.size() - 1)).value().get_object();
}

TEST(SessionProtocol, ACellIsARequestWithAPlace) {
    const execution::RunRequest request{.code = "a\nb", .stdin_text = "in"};
    const json::object cell =
        parsed(encode_cell(request, {.branch = "s-1", .cell = 7, .checkpoints = 3}));
    EXPECT_EQ(cell.at("code"), "a\nb");
    EXPECT_EQ(cell.at("stdin"), "in");
    EXPECT_EQ(cell.at("branch"), "s-1");
    EXPECT_EQ(cell.at("cell"), 7);
    EXPECT_EQ(cell.at("checkpoints"), 3);
    EXPECT_EQ(cell.at("session"), true);
}

TEST(SessionProtocol, OrdersHaveTheirNames) {
    const execution::SessionOrder order{.action = execution::SessionAction::Fork, .cells = 2};
    const json::object line = parsed(encode_session_order(order, "s-1", "s-2"));
    EXPECT_EQ(line.at("do"), "fork");
    EXPECT_EQ(line.at("branch"), "s-1");
    EXPECT_EQ(line.at("as"), "s-2");
    EXPECT_EQ(line.at("count"), 2);
    EXPECT_TRUE(parsed(encode_stop()).contains("stop"));
}

TEST(SessionProtocol, ACellThatCameToItsEndIsKept) {
    const std::string report = "{\"result\":1,\"exit_code\":4,\"notes\":[\"a\",5]}\nPNG";
    const std::string text =
        std::to_string(report.size()) + " {\"cell\":3,\"done\":true,\"kept\":2}\n" + report;
    const auto answer = parse_cell_answer(text, 3);
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->kept);
    EXPECT_EQ(answer->report, report);
    EXPECT_EQ(WEXITSTATUS(answer->wait_status), 4);
    EXPECT_EQ(answer->notes, std::vector<std::string>{"a"});
    EXPECT_FALSE(parse_cell_answer(text + "x", 3)) << "more than was announced";
    EXPECT_FALSE(parse_cell_answer(text.substr(0, text.size() - 1), 3)) << "less";
}

TEST(SessionProtocol, ASizeIsKnownWithTheFirstLine) {
    EXPECT_EQ(size_of_answer(""), std::nullopt);
    EXPECT_EQ(size_of_answer("5 {}"), std::nullopt);
    EXPECT_EQ(size_of_answer("5 {}\n"), 10U);
    EXPECT_EQ(size_of_answer("{}\n"), 3U);
    EXPECT_EQ(size_of_answer("99999999999999999999999 {}\nabc"), 27U) << "no number, no report";
}

TEST(SessionProtocol, AGuestWithoutCopiesReportsByItself) {
    const std::string line = R"({"cell":1,"done":true,"result":5,"exit_code":1})";
    const auto answer = parse_cell_answer(line + "\n", 1);
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->kept);
    EXPECT_EQ(answer->report, line);
    EXPECT_EQ(WEXITSTATUS(answer->wait_status), 1);
}

TEST(SessionProtocol, ACellThatDiedIsNot) {
    const auto answer = parse_cell_answer("0 {\"cell\":1,\"died\":11,\"notes\":[\"a\",5]}\n", 1);
    ASSERT_TRUE(answer);
    EXPECT_FALSE(answer->kept);
    EXPECT_EQ(WTERMSIG(answer->wait_status), 11);
    EXPECT_EQ(answer->notes, std::vector<std::string>{"a"});
}

TEST(SessionProtocol, AnswersMayBeAnything) {
    for (const std::string& line :
         {std::string(), std::string("{"), std::string("[]"), std::string("{}"),
          std::string(R"({"cell":2,"done":true})"), std::string(R"({"cell":-1})"),
          std::string(R"({"cell":"1"})"), std::string("\xFF\xFE")}) {
        EXPECT_FALSE(parse_cell_answer(line + "\n", 1)) << line;
        EXPECT_FALSE(parse_session_answer(line) && !line.contains("done")) << line;
    }
    const auto odd = parse_cell_answer("{\"cell\":1,\"died\":99999999}\n", 1);
    ASSERT_TRUE(odd);
    EXPECT_LE(odd->wait_status, 0xFFFF);
    const auto none = parse_cell_answer("3 {\"cell\":1,\"done\":true}\nno!", 1);
    ASSERT_TRUE(none);
    EXPECT_EQ(none->wait_status, 0);
}

TEST(SessionProtocol, ARefusalSaysWhy) {
    const auto answer = parse_session_answer(R"({"refused":"only 3 cells"})");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().message, "only 3 cells");
    EXPECT_EQ(answer.error().code, ErrorCode::InvalidArgument);
    const auto longer = parse_session_answer("{\"refused\":\"" + std::string(9000, 'x') + "\"}");
    EXPECT_LT(longer.error().message.size(), 400U);
}

}  // namespace
}  // namespace belljar::runner
