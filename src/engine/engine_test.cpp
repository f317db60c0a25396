#include "engine/engine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <csignal>
#include <filesystem>
#include <optional>

#include "base/json.h"

namespace belljar::engine {
namespace {

using execution::KillReason;
using execution::RunRequest;
using execution::RunResult;
using execution::Status;
using isolation::GuestFd;
using std::chrono::seconds;

// A jar as the warden was asked for it. The test plays warden and guest.
struct Order {
    isolation::LaunchMessage message{};
    std::vector<Fd> fds;

    const Fd& fd(GuestFd which) const { return fds[static_cast<std::size_t>(which)]; }
};

struct Caller {
    CancellationPtr cancellation = std::make_shared<Cancellation>();
    std::optional<Result<RunResult>> result;
};

class Gate final : public Overseer {
   public:
    [[nodiscard]] Result<void> admit(const RunRequest& /*request*/) override {
        return open ? Result<void>{} : fail(ErrorCode::Denied, "you may run nothing");
    }

    bool open = true;
};

isolation::EndedMessage exited_with(int code) {
    isolation::EndedMessage ended{};
    ended.exited = 1;
    ended.wait_status = W_EXITCODE(code, 0);
    return ended;
}

isolation::EndedMessage killed_for(KillReason reason) {
    isolation::EndedMessage ended{};
    ended.kill_reason = reason;
    return ended;
}

Task<void> execute(Engine* engine, RunRequest request, Caller* caller) {
    Result<RunResult> result = co_await engine->execute(std::move(request), caller->cancellation);
    caller->result = std::move(result);
}

Task<void> test_self(Engine* engine, std::optional<Result<void>>* result) {
    Result<void> tested = co_await engine->self_test();
    *result = std::move(tested);
}

// A report as the bootstrap would write it that has this request.
std::string marked(const std::string& request, const std::string& report) {
    return R"({"mark":)" + to_text(parse_json(request).value().at("mark")) + "," + report.substr(1);
}

runner::Runners generalists() {
    runner::Runners runners = runner::Runners::create().value();
    runners.dismiss_specialists();
    return runners;
}

class EngineTest : public testing::Test {
   protected:
    EngineTest() { start(link.listen()); }
    ~EngineTest() override {
        link.close();
        settle();
    }

    static Engine::Options options() {
        return {.version = "1.2.3",
                .policy = policy::policy_from({.output_flood = kibibytes(16)}),
                .admission = {.running = 1, .waiting = 1},
                .isolation = {.grade = "standard", .tier = "kernel"}};
    }

    void start(Task<void> task) {
        asio::co_spawn(context, std::move(task),
                       [](const std::exception_ptr& failure) { EXPECT_FALSE(failure); });
        settle();
    }

    void settle() {
        context.restart();
        context.poll();
    }

    bool has_order() {
        pollfd entry{.fd = warden.get(), .events = POLLIN, .revents = 0};
        return ::poll(&entry, 1, 0) == 1;
    }

    Order take_order() {
        Order order;
        EXPECT_TRUE(has_order());
        isolation::Packet packet = jar::receive_packet(warden).value();
        order.message = std::get<isolation::LaunchMessage>(
            isolation::decode_server_message(packet.data).value());
        order.fds = std::move(packet.fds);
        return order;
    }

    KillReason take_kill() {
        EXPECT_TRUE(has_order());
        const isolation::Packet packet = jar::receive_packet(warden).value();
        return std::get<isolation::KillMessage>(
                   isolation::decode_server_message(packet.data).value())
            .reason;
    }

    // The guest ends, then the warden tells of it.
    void end(Order& order, isolation::EndedMessage ended = exited_with(0)) {
        order.fds.clear();
        ended.jar = order.message.jar;
        ASSERT_TRUE(isolation::send_message(warden, ended));
        settle();
    }

    asio::io_context context;
    Log log{"test", LogLevel::Error};
    jar::SocketPair sockets = jar::make_seqpacket_pair().value();
    Fd warden = std::move(sockets.second);
    WardenLink link{context.get_executor(), std::move(sockets.first), log};
    Gate gate;
    Engine engine{context.get_executor(), link, generalists(), options(), log};
    Caller run;
};

TEST_F(EngineTest, ARunGoesFromRequestToResult) {
    start(execute(&engine, {.code = "6*7", .language = "PY", .timeout = seconds(5)}, &run));
    Order order = take_order();
    EXPECT_EQ(order.message.timeout_nanoseconds, 5'000'000'000);
    EXPECT_EQ(jar::command_of(order.message.command)->arguments.front(), "/usr/bin/python3");
    const std::string request = read_all(order.fd(GuestFd::Request), mebibytes(1)).value();
    EXPECT_EQ(parse_json(request).value().at("code").as_string(), "6*7");
    EXPECT_FALSE(read_all(order.fd(GuestFd::Program), mebibytes(1)).value().empty());
    ASSERT_TRUE(write_all(order.fd(GuestFd::Stdout), "out"));
    ASSERT_TRUE(write_all(order.fd(GuestFd::Stderr), "err"));
    ASSERT_TRUE(
        write_all(order.fd(GuestFd::Report), marked(request, R"({"result":42,"repr":"42"})")));
    EXPECT_FALSE(run.result);
    end(order);
    ASSERT_TRUE(run.result && *run.result);
    const RunResult& result = **run.result;
    EXPECT_EQ(result.status, Status::Ok);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.stdout_stream.text, "out");
    EXPECT_EQ(result.stderr_stream.text, "err");
    EXPECT_EQ(result.result_json, "42");
    EXPECT_EQ(result.result_repr, "42");
    EXPECT_EQ(result.language, "python");
    EXPECT_EQ(result.runner, "cpython");
    EXPECT_EQ(result.isolation.grade, "standard");
    EXPECT_EQ(result.execution_id.size(), 36U);
}

TEST_F(EngineTest, TheKernelsWordCountsAndNotTheGuests) {
    start(execute(&engine, {.code = "1"}, &run));
    Order order = take_order();
    ASSERT_TRUE(write_all(order.fd(GuestFd::Report),
                          marked(read_all(order.fd(GuestFd::Request), mebibytes(1)).value(),
                                 R"({"status":"ok","result":1})")));
    end(order, killed_for(KillReason::Deadline));
    EXPECT_EQ((*run.result)->status, Status::Timeout);
    EXPECT_EQ((*run.result)->denials.size(), 1U);
}

TEST_F(EngineTest, RefusesALanguageThatNobodyKnows) {
    start(execute(&engine, {.code = "1", .language = "cobol"}, &run));
    ASSERT_TRUE(run.result && !*run.result);
    EXPECT_EQ(run.result->error().code, ErrorCode::Unsupported);
    EXPECT_NE(run.result->error().message.find("python"), std::string::npos);
    EXPECT_FALSE(has_order());
}

TEST_F(EngineTest, RefusesWhatPolicyRefuses) {
    start(execute(&engine, {.code = "1", .timeout = seconds(100'000)}, &run));
    ASSERT_TRUE(run.result && !*run.result);
    EXPECT_EQ(run.result->error().code, ErrorCode::InvalidArgument);
    EXPECT_FALSE(has_order());
}

TEST_F(EngineTest, ACancelKillsTheJar) {
    start(execute(&engine, {.code = "1"}, &run));
    Order order = take_order();
    run.cancellation->request();
    EXPECT_EQ(take_kill(), KillReason::Cancelled);
    EXPECT_FALSE(run.result) << "the jar has not ended yet";
    end(order, killed_for(KillReason::Cancelled));
    EXPECT_EQ((*run.result)->status, Status::Cancelled);
}

TEST_F(EngineTest, AFloodKillsTheJar) {
    start(execute(&engine, {.code = "1"}, &run));
    Order order = take_order();
    ASSERT_TRUE(write_all(order.fd(GuestFd::Stdout), std::string(20 << 10U, 'x')));
    settle();
    EXPECT_EQ(take_kill(), KillReason::Output);
    end(order, killed_for(KillReason::Output));
    EXPECT_EQ((*run.result)->status, Status::Output);
    EXPECT_EQ((*run.result)->stdout_stream.bytes, 20U << 10U);
}

TEST_F(EngineTest, TellsWhereALongOutputIs) {
    std::string name = (std::filesystem::temp_directory_path() / "engine-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    const Fd data(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto store = storage::OutputStore::open(data, {}).value();
    Engine::Options keeping = options();
    keeping.policy.defaults.output = Bytes{4};
    keeping.outputs = {.store = store.get(), .uri_before = "before/", .uri_after = "/after"};
    Engine other(context.get_executor(), link, generalists(), keeping, log);
    for (const std::string_view text : {"long enough", "long"}) {
        Caller caller;
        start(execute(&other, {.code = "1"}, &caller));
        Order order = take_order();
        ASSERT_TRUE(write_all(order.fd(GuestFd::Stdout), text));
        end(order);
        ASSERT_TRUE(caller.result && *caller.result);
        const RunResult& result = **caller.result;
        const bool cut = text.size() > 4;
        EXPECT_EQ(result.stdout_stream.truncated, cut);
        EXPECT_EQ(result.full_output,
                  cut ? std::optional("before/" + result.execution_id + "/after") : std::nullopt);
        EXPECT_EQ(store->find({.execution_id = result.execution_id}).has_value(), cut);
    }
    std::filesystem::remove_all(name);
}

TEST_F(EngineTest, WithoutAPlaceNothingIsKept) {
    start(execute(&engine, {.code = "1"}, &run));
    Order order = take_order();
    ASSERT_TRUE(write_all(order.fd(GuestFd::Stdout), std::string(16 << 10U, 'x')));
    end(order);
    EXPECT_FALSE((*run.result)->full_output);
}

TEST_F(EngineTest, RunsWaitTheirTurnAndTooManyAreRefused) {
    Caller second;
    Caller third;
    start(execute(&engine, {.code = "1"}, &run));
    start(execute(&engine, {.code = "2"}, &second));
    start(execute(&engine, {.code = "3"}, &third));
    EXPECT_EQ(third.result->error().code, ErrorCode::Overloaded);
    Order order = take_order();
    EXPECT_FALSE(has_order()) << "the second waits";
    end(order);
    Order next = take_order();
    end(next);
    EXPECT_TRUE(second.result && *second.result);
}

TEST_F(EngineTest, WhoIsBlockedWhileItWaitsDoesNotRun) {
    engine.add_overseer(gate);
    Caller second;
    start(execute(&engine, {.code = "1"}, &run));
    start(execute(&engine, {.code = "2"}, &second));
    gate.open = false;
    Order order = take_order();
    end(order);
    EXPECT_TRUE(run.result && *run.result) << "it had begun";
    ASSERT_TRUE(second.result && !*second.result);
    EXPECT_EQ(second.result->error().code, ErrorCode::Denied);
    EXPECT_FALSE(has_order());
    EXPECT_EQ(engine.figures().admission.running, 0U) << "it gave its place back";
}

TEST_F(EngineTest, AFailedJarIsAnErrorAndFreesItsPlace) {
    start(execute(&engine, {.code = "1"}, &run));
    Order order = take_order();
    order.fds.clear();
    testing::internal::CaptureStderr();
    ASSERT_TRUE(isolation::send_message(
        warden, isolation::FailedMessage{
                    .jar = order.message.jar, .step = jar::Step::MountProc, .sys_errno = EPERM}));
    settle();
    testing::internal::GetCapturedStderr();
    ASSERT_TRUE(run.result && !*run.result);
    EXPECT_EQ(run.result->error().code, ErrorCode::SystemCall);
    Caller second;
    start(execute(&engine, {.code = "2"}, &second));
    Order next = take_order();
    end(next);
    EXPECT_TRUE(second.result && *second.result);
}

TEST_F(EngineTest, LosingTheWardenFailsTheRun) {
    start(execute(&engine, {.code = "1"}, &run));
    Order order = take_order();
    order.fds.clear();  // its jars die with it
    warden.reset();
    settle();
    ASSERT_TRUE(run.result && !*run.result);
    EXPECT_EQ(run.result->error().code, ErrorCode::Unavailable);
    EXPECT_FALSE(engine.ready());
}

TEST_F(EngineTest, IsReadyAfterItsSelfTest) {
    EXPECT_FALSE(engine.ready());
    std::optional<Result<void>> tested;
    start(test_self(&engine, &tested));
    Order order = take_order();
    ASSERT_TRUE(write_all(order.fd(GuestFd::Report),
                          marked(read_all(order.fd(GuestFd::Request), mebibytes(1)).value(),
                                 R"({"result":"3.11.2","repr":"'3.11.2'"})")));
    end(order);
    ASSERT_TRUE(tested && *tested);
    EXPECT_TRUE(engine.ready());
    const SandboxInfo info = engine.info();
    EXPECT_EQ(info.version, "1.2.3");
    ASSERT_FALSE(info.runners.empty());
    EXPECT_EQ(info.runners.front().language, "python");
    EXPECT_EQ(info.runners.front().version, "3.11.2");
    EXPECT_EQ(info.maximum_limits.timeout, Duration(seconds(300)));
}

TEST_F(EngineTest, IsNotReadyIfTheTrialRunFails) {
    std::optional<Result<void>> tested;
    start(test_self(&engine, &tested));
    Order order = take_order();
    ASSERT_TRUE(write_all(order.fd(GuestFd::Stderr), "no module named encodings"));
    end(order, exited_with(1));
    ASSERT_TRUE(tested && !*tested);
    EXPECT_EQ(tested->error().code, ErrorCode::Unavailable);
    EXPECT_NE(tested->error().message.find("encodings"), std::string::npos);
    EXPECT_FALSE(engine.ready());
}

TEST_F(EngineTest, TheSelfTestIsToldWhatJarsLackAndHasTimeEnough) {
    Engine::Options weak = options();
    weak.isolation.missing = {"namespaces", "cpu_share"};
    weak.policy = policy::policy_from({.timeout = std::chrono::milliseconds(5), .code = Bytes{1}});
    Engine other(context.get_executor(), link, generalists(), weak, log);
    std::optional<Result<void>> tested;
    start(test_self(&other, &tested));
    Order order = take_order();
    EXPECT_GE(order.message.timeout_nanoseconds, 30'000'000'000);
    const std::string text = read_all(order.fd(GuestFd::Request), mebibytes(1)).value();
    const json::value request = parse_json(text).value();
    EXPECT_EQ(request.at("args"), json::value({"namespaces", "cpu_share"}));
    EXPECT_EQ(request.at("code").as_string(), runner::Runners::create()->find("python")->self_test);
    end(order, exited_with(1));
}

TEST_F(EngineTest, TheReasonIsTheSentenceOfTheSelfTest) {
    std::optional<Result<void>> tested;
    start(test_self(&engine, &tested));
    Order order = take_order();
    ASSERT_TRUE(write_all(
        order.fd(GuestFd::Report),
        marked(read_all(order.fd(GuestFd::Request), mebibytes(1)).value(),
               R"({"error":{"type":"JarProblem","message":"The jar does not hold: it leaks."}})")));
    ASSERT_TRUE(write_all(order.fd(GuestFd::Stderr), "Traceback"));
    end(order, exited_with(1));
    ASSERT_TRUE(tested && !*tested);
    EXPECT_EQ(tested->error().message,
              "the trial run of python failed: The jar does not hold: it leaks.");
}

TEST_F(EngineTest, NothingRunsBeforeTheSelfTestHasPassed) {
    engine.require_self_test();
    start(execute(&engine, {.code = "1"}, &run));
    EXPECT_FALSE(has_order());
    std::optional<Result<void>> tested;
    start(test_self(&engine, &tested));
    Order trial = take_order();
    EXPECT_FALSE(has_order());
    ASSERT_TRUE(write_all(trial.fd(GuestFd::Report),
                          marked(read_all(trial.fd(GuestFd::Request), mebibytes(1)).value(),
                                 R"({"repr":"'3.11.2'"})")));
    end(trial);
    Order order = take_order();
    EXPECT_FALSE(run.result);
    end(order);
    EXPECT_TRUE(run.result && *run.result);
    EXPECT_EQ(engine.figures().ended.size(), 1U) << "a self-test is nobody's run";
}

TEST_F(EngineTest, NothingRunsIfTheSelfTestFailed) {
    engine.require_self_test();
    std::optional<Result<void>> tested;
    start(test_self(&engine, &tested));
    Order trial = take_order();
    start(execute(&engine, {.code = "1"}, &run));
    end(trial, exited_with(1));
    Caller late;
    start(execute(&engine, {.code = "1"}, &late));
    EXPECT_FALSE(has_order());
    for (const Caller* caller : {&run, &late}) {
        ASSERT_TRUE(caller->result && !*caller->result);
        EXPECT_EQ(caller->result->error().code, ErrorCode::Unavailable);
    }
}

TEST_F(EngineTest, CountsRunsAndRefusals) {
    start(execute(&engine, {.code = "1", .language = "Python3"}, &run));
    Order order = take_order();
    Caller waiting;
    start(execute(&engine, {.code = "1"}, &waiting));
    Caller refused;
    start(execute(&engine, {.code = "1"}, &refused));
    Caller unknown;
    start(execute(&engine, {.code = "1", .language = "a\"}\nb"}, &unknown));
    EXPECT_EQ(engine.figures().admission.running, 1U);
    EXPECT_EQ(engine.figures().admission.waiting, 1U);
    end(order, killed_for(KillReason::Deadline));
    Order second = take_order();
    end(second);
    const RunFigures figures = engine.figures();
    EXPECT_EQ(figures.admission.running, 0U);
    EXPECT_EQ(figures.admission.waiting, 0U);
    ASSERT_EQ(figures.ended.size(), 2U);
    EXPECT_EQ(figures.ended.at({"python", Status::Timeout}), 1U);
    EXPECT_EQ(figures.ended.at({"python", Status::Ok}), 1U);
    EXPECT_EQ(figures.refused.at(ErrorCode::Overloaded), 1U);
    EXPECT_EQ(figures.refused.at(ErrorCode::Unsupported), 1U);
    EXPECT_EQ(figures.denials.at("limits.timeout"), 1U);
}

TEST_F(EngineTest, AStrangeVersionIsNoCrash) {
    for (const std::string_view repr : {"", "3", "''"}) {
        std::optional<Result<void>> tested;
        start(test_self(&engine, &tested));
        Order order = take_order();
        ASSERT_TRUE(write_all(order.fd(GuestFd::Report),
                              marked(read_all(order.fd(GuestFd::Request), mebibytes(1)).value(),
                                     R"({"repr":")" + std::string(repr) + "\"}")));
        end(order);
        EXPECT_TRUE(tested) << "[" << repr << "]";
    }
}

class EngineWithSessionsTest : public EngineTest {
   protected:
    static Engine::Options with_sessions() {
        Engine::Options keeping = options();
        keeping.sessions.emplace();
        return keeping;
    }

    void TearDown() override { keeping.close(); }

    Engine keeping{context.get_executor(), link, generalists(), with_sessions(), log};
};

TEST_F(EngineWithSessionsTest, ACancelDoesNotWaitForTheInterpreter) {
    start(execute(&keeping, {.code = "1", .session = true}, &run));
    Order order = take_order();
    EXPECT_EQ(order.message.waits, 1U);
    run.cancellation->request();
    EXPECT_EQ(take_kill(), KillReason::Cancelled);
    end(order, killed_for(KillReason::Cancelled));
    ASSERT_TRUE(run.result && !*run.result);
    EXPECT_EQ(run.result->error().code, ErrorCode::Cancelled);
}

TEST_F(EngineWithSessionsTest, ASessionIsNotKeptIfItsCallerHasLeft) {
    start(execute(&keeping, {.code = "1", .session = true}, &run));
    Order order = take_order();
    ASSERT_TRUE(write_all(order.fd(GuestFd::Report), "\n"));
    run.cancellation->request();
    settle();
    EXPECT_EQ(take_kill(), KillReason::Cancelled);
    end(order, killed_for(KillReason::Cancelled));
    ASSERT_TRUE(run.result && !*run.result);
    EXPECT_EQ(run.result->error().code, ErrorCode::Cancelled);
    EXPECT_TRUE(keeping.list_all_sessions().empty());
}

// As a service uses it: after the self-test jars are made ahead.
class EngineWithPoolTest : public EngineTest {
   protected:
    static Engine::Options with_pool() {
        Engine::Options pooled = options();
        pooled.pool = {.ready = 1};
        pooled.isolation.missing = {"memory_limit"};  // so that it cannot be changed
        return pooled;
    }

    // The jar that is ready then.
    Order get_ready() {
        std::optional<Result<void>> tested;
        start(test_self(&pooled, &tested));
        Order trial = take_order();
        EXPECT_EQ(trial.message.waits, 0U);
        EXPECT_TRUE(write_all(trial.fd(GuestFd::Report),
                              marked(read_all(trial.fd(GuestFd::Request), mebibytes(1)).value(),
                                     R"({"repr":"'3.11.2'"})")));
        end(trial);
        Order waiting = take_order();
        EXPECT_EQ(waiting.message.waits, 1U);
        EXPECT_TRUE(write_all(waiting.fd(GuestFd::Report), "\n"));
        settle();
        EXPECT_EQ(pooled.figures().pools.at("python").ready, 1U);
        return waiting;
    }

    void TearDown() override { pooled.close(); }

    Engine pooled{context.get_executor(), link, generalists(), with_pool(), log};
};

TEST_F(EngineWithPoolTest, ARunIsHandedToAJarThatWaits) {
    Order order = get_ready();
    start(execute(&pooled, {.code = "6*7", .timeout = seconds(5), .debug = true}, &run));
    const isolation::Packet packet = jar::receive_packet(warden).value();
    const auto begun =
        std::get<isolation::StartMessage>(isolation::decode_server_message(packet.data).value());
    EXPECT_EQ(begun.jar, order.message.jar);
    EXPECT_EQ(begun.timeout_nanoseconds, 5'000'000'000);
    const std::string request = read_all(order.fd(GuestFd::Request), mebibytes(1)).value();
    EXPECT_EQ(parse_json(request).value().at("code").as_string(), "6*7");
    ASSERT_TRUE(
        write_all(order.fd(GuestFd::Report), marked(request, R"({"result":42,"repr":"42"})")));
    end(order);
    ASSERT_TRUE(run.result && *run.result);
    EXPECT_EQ((*run.result)->result_json, "42");
    EXPECT_TRUE((*run.result)->debug);
    EXPECT_TRUE((*run.result)->timing.jar_ready);
    EXPECT_EQ((*run.result)->timing.jar, Duration{});
    EXPECT_EQ((*run.result)->timing.guest_start, Duration{});
    EXPECT_EQ(pooled.figures().pools.at("python").taken, 1U);
}

TEST_F(EngineWithPoolTest, ARunThatFindsNoneGetsOneOfItsOwn) {
    Order waiting = get_ready();
    start(execute(&pooled, {.code = "1", .memory = mebibytes(512), .debug = true}, &run));
    Order order = take_order();
    EXPECT_EQ(order.message.waits, 0U);
    ASSERT_TRUE(isolation::send_message(warden, isolation::StartedMessage{order.message.jar}));
    settle();
    end(order);
    ASSERT_TRUE(run.result && *run.result);
    EXPECT_FALSE((*run.result)->timing.jar_ready);
    EXPECT_GT((*run.result)->timing.jar, Duration{});
    EXPECT_EQ(pooled.figures().pools.at("python").unfit, 1U);
}

TEST_F(EngineWithPoolTest, ACancelKillsTheJarThatWasTaken) {
    Order order = get_ready();
    start(execute(&pooled, {.code = "1"}, &run));
    jar::receive_packet(warden).value();
    EXPECT_EQ(take_order().message.waits, 1U) << "the next, for the last was taken";
    run.cancellation->request();
    EXPECT_EQ(take_kill(), KillReason::Cancelled);
    end(order, killed_for(KillReason::Cancelled));
    EXPECT_EQ((*run.result)->status, Status::Cancelled);
    EXPECT_FALSE((*run.result)->debug) << "nobody asked";
}

}  // namespace
}  // namespace belljar::engine
