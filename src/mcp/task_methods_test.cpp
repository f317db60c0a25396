#include "mcp/task_methods.h"

#include "mcp/testing/method_test.h"

namespace belljar::mcp {
namespace {

class TaskMethodsTest : public MethodTest {
   protected:
    json::value begin(std::string_view tool) {
        return ask("tools/call", {{"name", tool}, {"arguments", json::object{{"seconds", 60}}}},
                   tasks_declared())
            .at_pointer("/result/taskId");
    }

    json::value on_task(std::string_view method, json::value id, json::object more = {}) {
        more["taskId"] = std::move(id);
        return ask(method, std::move(more), tasks_declared());
    }
};

TEST_F(TaskMethodsTest, TellHowItStands) {
    const json::value id = begin("slow_compute");
    const json::value working = on_task("tasks/get", id);
    EXPECT_EQ(working.at_pointer("/result/status"), json::value("working"));
    EXPECT_EQ(working.at_pointer("/result/taskId"), id);
    EXPECT_EQ(to_text(on_task("tasks/cancel", id).at("result").at("resultType")), R"("complete")");
    EXPECT_EQ(on_task("tasks/get", id).at_pointer("/result/status"), json::value("cancelled"));
    EXPECT_EQ(error_of(on_task("tasks/cancel", id)), 0);
}

TEST_F(TaskMethodsTest, InputIsGivenInParts) {
    const json::value id = begin("multi_input");
    EXPECT_EQ(on_task("tasks/get", id).at_pointer("/result/inputRequests").as_object().size(), 2U);
    on_task("tasks/update", id, {{"inputResponses", json::object{{"name", json::object{}}}}});
    const json::value half = on_task("tasks/get", id);
    EXPECT_EQ(half.at_pointer("/result/status"), json::value("input_required"));
    EXPECT_FALSE(half.at_pointer("/result/inputRequests").as_object().contains("name"));
    on_task("tasks/update", id, {{"inputResponses", json::object{{"confirm", json::object{}}}}});
    const json::value done = on_task("tasks/get", id);
    EXPECT_EQ(done.at_pointer("/result/status"), json::value("completed"));
    EXPECT_EQ(done.at_pointer("/result/result/isError"), json::value(false));
}

TEST_F(TaskMethodsTest, AnErrorIsPartOfTheTask) {
    const json::value failed = on_task("tasks/get", begin("protocol_error_job"));
    EXPECT_EQ(failed.at_pointer("/result/status"), json::value("failed"));
    EXPECT_EQ(failed.at_pointer("/result/error/code"), json::value(-32603));
    EXPECT_FALSE(failed.at("result").as_object().contains("result"));
}

TEST_F(TaskMethodsTest, UnknownForeignAndUndeclaredAreRefused) {
    const json::value id = begin("confirm_delete");
    EXPECT_EQ(error_of(on_task("tasks/get", "made-up")), -32602);
    EXPECT_EQ(error_of(on_task("tasks/get", 1)), -32602);
    Call foreign = modern_call("tasks/get", {{"taskId", id}}, tasks_declared());
    foreign.principal = "bert";
    EXPECT_EQ(error_of(answer(std::move(foreign))), -32602);
    EXPECT_EQ(error_of(ask("tasks/get", {{"taskId", id}})), -32021);
    EXPECT_EQ(error_of(on_task("tasks/update", id)), -32602);
    EXPECT_EQ(error_of(on_task("tasks/list", id)), -32601);
}

}  // namespace
}  // namespace belljar::mcp
