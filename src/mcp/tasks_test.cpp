#include "mcp/tasks.h"

#include "mcp/testing/method_test.h"

namespace belljar::mcp {
namespace {

using Status = BackgroundTask::Status;

Task<RpcResult<Round<ToolOutcome>>> ask_once(Asker asker, engine::CancellationPtr /*stop*/) {
    if (!asker.inputs.contains("name")) {
        co_return InputNeeded{
            .requests = {{"name", json::object{{"method", "elicitation/create"}}}},
            .state = "asked"};
    }
    co_return ToolOutcome{.text = to_text(asker.state)};
}

Task<RpcResult<Round<ToolOutcome>>> wait_for_stop(Asker /*asker*/, engine::CancellationPtr stop) {
    co_await pause_fixture(std::chrono::hours(1), stop);
    co_return ToolOutcome{.text = "stopped"};
}

Task<RpcResult<Round<ToolOutcome>>> throw_something(Asker /*asker*/,
                                                    engine::CancellationPtr /*stop*/) {
    throw std::runtime_error("something");
    co_return ToolOutcome{};
}

class TasksTest : public MethodTest {
   protected:
    BackgroundTaskPtr begin(Tasks::Work work, std::string principal = "anna") {
        RpcResult<BackgroundTaskPtr> task = tasks.begin(
            {.principal = std::move(principal), .capabilities = {{"elicitation", json::object{}}}},
            std::move(work));
        io.restart();
        io.poll();
        return task.value();
    }

    void poll() {
        io.restart();
        io.poll();
    }
};

TEST_F(TasksTest, GoesOnWithWhatItIsGiven) {
    const BackgroundTaskPtr task = begin(ask_once);
    EXPECT_EQ(task->status(), Status::InputRequired);
    EXPECT_TRUE(task->requests().contains("name"));
    tasks.give(task, {{"other", 1}});
    poll();
    EXPECT_EQ(task->status(), Status::InputRequired);
    tasks.give(task, {{"name", 1}});
    poll();
    EXPECT_EQ(task->status(), Status::Completed);
    EXPECT_EQ(task->outcome()->text, R"("asked")");
}

TEST_F(TasksTest, EndsWhenCancelled) {
    const BackgroundTaskPtr running = begin(wait_for_stop);
    const BackgroundTaskPtr asking = begin(ask_once);
    EXPECT_EQ(running->status(), Status::Working);
    tasks.cancel(running);
    tasks.cancel(asking);
    tasks.cancel(asking);
    poll();
    EXPECT_EQ(running->status(), Status::Cancelled);
    EXPECT_EQ(asking->status(), Status::Cancelled);
    EXPECT_FALSE(running->outcome());
}

TEST_F(TasksTest, WhatItsClientCannotBeAskedFailsIt) {
    RpcResult<BackgroundTaskPtr> task = tasks.begin({}, ask_once);
    poll();
    EXPECT_EQ((*task)->status(), Status::Failed);
    EXPECT_EQ((*task)->error()->code, RpcCode::MissingCapability);
}

TEST_F(TasksTest, WhatIsThrownFailsIt) {
    const BackgroundTaskPtr task = begin(throw_something);
    EXPECT_EQ(task->status(), Status::Failed);
    EXPECT_EQ(task->error()->code, RpcCode::InternalError);
}

TEST_F(TasksTest, BelongsToItsCaller) {
    const BackgroundTaskPtr task = begin(wait_for_stop);
    EXPECT_EQ(tasks.find("anna", task->id()), task);
    EXPECT_EQ(tasks.find("bert", task->id()), nullptr);
    tasks.forget(task);
    EXPECT_EQ(tasks.find("anna", task->id()), nullptr);
    tasks.stop();
    poll();
}

TEST_F(TasksTest, EachCallerHasSoManyUnderWay) {
    for (std::size_t count = 0; count < Tasks::kMostEach; ++count) {
        begin(wait_for_stop);
    }
    EXPECT_FALSE(tasks.begin({.principal = "anna"}, wait_for_stop));
    EXPECT_TRUE(tasks.begin({.principal = "bert"}, wait_for_stop));
    tasks.stop();
    poll();
    EXPECT_FALSE(tasks.begin({.principal = "carl"}, wait_for_stop));
}

TEST_F(TasksTest, OutcomesTakeNoMoreThanTheyMay) {
    const Tasks::Work give_much =
        [](Asker /*asker*/,
           engine::CancellationPtr /*stop*/) -> Task<RpcResult<Round<ToolOutcome>>> {
        co_return ToolOutcome{
            .text = std::string(Tasks::kMostBytes / 5, 'x'),
            .structured = json::object{{"text", std::string(Tasks::kMostBytes / 5, 'x')}}};
    };
    const BackgroundTaskPtr first = begin(give_much, "bert");
    const BackgroundTaskPtr second = begin(give_much);
    EXPECT_EQ(tasks.find("bert", first->id()), first);
    EXPECT_EQ(tasks.find("anna", second->id()), second);
    const BackgroundTaskPtr third = begin(give_much);
    EXPECT_EQ(tasks.find("anna", second->id()), nullptr) << "who needs the room makes it";
    EXPECT_EQ(tasks.find("bert", first->id()), first);
    EXPECT_EQ(tasks.find("anna", third->id()), third);
    const BackgroundTaskPtr fourth = begin(give_much, "carl");
    EXPECT_EQ(tasks.find("bert", first->id()), nullptr) << "then the oldest does";
    EXPECT_EQ(tasks.find("anna", third->id()), third);
    EXPECT_EQ(tasks.find("carl", fourth->id()), fourth);
}

TEST_F(TasksTest, EveryStepIsMadeKnownToItsCaller) {
    std::vector<std::string> told;
    const Changes::Subscription subscription = changes.listen([&told](const Change& change) {
        EXPECT_EQ(change.kind, Change::Kind::Task);
        EXPECT_TRUE(change.concerns("anna"));
        EXPECT_FALSE(change.concerns("bert"));
        told.push_back(change.name);
    });
    const BackgroundTaskPtr task = begin(ask_once);
    tasks.give(task, {{"name", 1}});
    poll();
    EXPECT_EQ(told.size(), 3U);  // input_required, working, completed
}

}  // namespace
}  // namespace belljar::mcp
