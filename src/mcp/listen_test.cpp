#include "mcp/listen.h"

#include "mcp/testing/method_test.h"

namespace belljar::mcp {
namespace {

constexpr std::string_view kSubscription = "/params/_meta/io.modelcontextprotocol~1subscriptionId";

// Once it has been told to.
template <std::size_t length>
Task<RpcResult<Round<ToolOutcome>>> give_text(Asker asker, engine::CancellationPtr /*stop*/) {
    if (!asker.inputs.contains("go")) {
        co_return InputNeeded{.requests = {{"go", json::object{{"method", "elicitation/create"}}}}};
    }
    co_return ToolOutcome{.text = std::string(length, 'x')};
}

class ListenTest : public MethodTest {
   protected:
    void listen(json::object notifications, json::object capabilities = {}) {
        Call call =
            modern_call("subscriptions/listen", {{"notifications", std::move(notifications)}},
                        std::move(capabilities));
        call.message.id = "ear";
        call.notify = [this](std::string message) {
            heard.push_back(parse_json(message).value());
            return keeps_up && message.size() <= access::ResponseStream::kCapacity.count;
        };
        asio::co_spawn(io, dispatcher.answer(std::move(call), cancellation),
                       [this](std::exception_ptr failure, Reply reply) {
                           EXPECT_FALSE(failure);
                           ended = parse_json(text_of(std::move(reply))).value();
                       });
        poll();
    }

    void poll() {
        io.restart();
        io.poll();
    }

    std::string last() const { return std::string(heard.back().at("method").as_string()); }

    std::vector<json::value> heard;
    std::optional<json::value> ended;
    bool keeps_up = true;
};

TEST_F(ListenTest, AcknowledgesThenTellsOnlyWhatWasAskedFor) {
    listen({{"toolsListChanged", true},
            {"resourceSubscriptions", json::array{"test://watched-resource"}}});
    ASSERT_EQ(heard.size(), 1U);
    EXPECT_EQ(last(), "notifications/subscriptions/acknowledged");
    EXPECT_EQ(to_text(heard[0].at_pointer("/params/notifications")),
              R"({"toolsListChanged":true,"resourceSubscriptions":["test://watched-resource"]})");
    changes.tell({.kind = Change::Kind::Prompts});
    changes.tell({.kind = Change::Kind::Resource, .name = "test://other"});
    EXPECT_EQ(heard.size(), 1U);
    changes.tell({.kind = Change::Kind::Tools});
    EXPECT_EQ(last(), "notifications/tools/list_changed");
    changes.tell({.kind = Change::Kind::Resource, .name = "test://watched-resource"});
    EXPECT_EQ(heard.back().at_pointer("/params/uri"), json::value("test://watched-resource"));
    for (const json::value& message : heard) {
        EXPECT_EQ(message.at_pointer(kSubscription), json::value("ear"));
    }
}

TEST_F(ListenTest, IsAnsweredWhenItEnds) {
    listen({});
    EXPECT_FALSE(ended);
    cancellation->request();
    poll();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->at_pointer("/result/resultType"), json::value("complete"));
    changes.tell({.kind = Change::Kind::Tools});
    EXPECT_EQ(heard.size(), 1U);
}

TEST_F(ListenTest, WhoDoesNotKeepUpIsNotWaitedFor) {
    listen({{"toolsListChanged", true}});
    keeps_up = false;
    changes.tell({.kind = Change::Kind::Tools});
    changes.tell({.kind = Change::Kind::Tools});
    poll();
    EXPECT_EQ(heard.size(), 2U);
    EXPECT_TRUE(ended);
}

TEST_F(ListenTest, ChangesOfOthersAreNotTold) {
    listen({{"resourcesListChanged", true}});
    changes.tell({.kind = Change::Kind::Resources, .principal = "bert"});
    EXPECT_EQ(heard.size(), 1U);
    changes.tell({.kind = Change::Kind::Resources, .principal = ""});
    EXPECT_EQ(heard.size(), 2U);
}

TEST_F(ListenTest, TasksAreToldInFull) {
    const json::value id =
        ask("tools/call", {{"name", "slow_compute"}, {"arguments", json::object{{"seconds", 60}}}},
            tasks_declared())
            .at_pointer("/result/taskId");
    listen({{"taskIds", json::array{id, "made-up"}}}, tasks_declared());
    EXPECT_EQ(heard[0].at_pointer("/params/notifications/taskIds"), (json::array{id}));
    tasks.cancel(tasks.find("", std::string(id.as_string())));
    EXPECT_EQ(last(), "notifications/tasks");
    EXPECT_EQ(heard.back().at_pointer("/params/status"), json::value("cancelled"));
}

// Its client asks for it; who hears nothing of it yet has not failed to keep up.
TEST_F(ListenTest, ALongResultIsNotTold) {
    const Asker asker{.capabilities = tasks_declared()};
    const BackgroundTaskPtr long_one = tasks.begin(asker, give_text<300'000>).value();
    const BackgroundTaskPtr short_one = tasks.begin(asker, give_text<100'000>).value();
    poll();
    listen({{"taskIds", json::array{long_one->id(), short_one->id()}}}, tasks_declared());
    for (const BackgroundTaskPtr& task : {long_one, short_one}) {
        tasks.give(task, {{"go", 1}});
        poll();
        EXPECT_EQ(task->status(), BackgroundTask::Status::Completed);
    }
    EXPECT_FALSE(ended);
    ASSERT_EQ(heard.size(), 4U);  // the acknowledgement, twice "working", one result
    EXPECT_EQ(heard.back().at_pointer("/params/taskId"), json::value(short_one->id()));
    EXPECT_EQ(heard.back().at_pointer("/params/result/content/0/text").as_string().size(),
              100'000U);
}

TEST_F(ListenTest, MalformedWishesAreRefused) {
    for (const json::value& wishes :
         json::array{nullptr, 1, json::object{{"toolsListChanged", "yes"}},
                     json::object{{"resourceSubscriptions", "x"}},
                     json::object{{"resourceSubscriptions", json::array{1}}}}) {
        EXPECT_EQ(error_of(ask("subscriptions/listen", {{"notifications", wishes}})), -32602);
    }
    EXPECT_EQ(error_of(ask("subscriptions/listen",
                           {{"notifications", json::object{{"taskIds", json::array{"x"}}}}})),
              -32021);
}

TEST(LegacyNotification, FollowsTheSession) {
    const ConnectionMemory memory{.subscriptions = {"test://a"}};
    EXPECT_TRUE(legacy_notification({.kind = Change::Kind::Tools}, memory));
    EXPECT_FALSE(legacy_notification({.kind = Change::Kind::Task, .name = "x"}, memory));
    EXPECT_TRUE(legacy_notification({.kind = Change::Kind::Resource, .name = "test://a"}, memory));
    EXPECT_FALSE(legacy_notification({.kind = Change::Kind::Resource, .name = "test://b"}, memory));
}

}  // namespace
}  // namespace belljar::mcp
