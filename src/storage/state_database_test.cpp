#include "storage/state_database.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "base/fd.h"
#include "storage/request_book.h"
#include "storage/run_book.h"
#include "storage/state_migrations.h"

namespace belljar::storage {
namespace {

using execution::RepeatClaim;
using execution::RunRecord;
using execution::RunState;

class StateDatabaseTest : public ::testing::Test {
   protected:
    StateDatabaseTest() {
        std::string pattern = std::filesystem::temp_directory_path() / "belljar-state-XXXXXX";
        root_ = ::mkdtemp(pattern.data());
    }
    ~StateDatabaseTest() override {
        database_.reset();
        std::filesystem::remove_all(root_);
    }

    Result<void> start(StateDatabase::Options options = {}) {
        database_.reset();
        const Result<DataDirectory> data = DataDirectory::open_shared(root_);
        auto prepared = StateDatabase::prepare(*data, std::move(options), log_);
        if (!prepared) {
            return fail(prepared.error());
        }
        database_ = std::move(*prepared);
        return database_->start();
    }

    // Waits until it is written.
    Result<void> perform(std::function<Result<void>(SqliteDatabase&)> work) {
        std::promise<Result<void>> done;
        const bool left = database_->submit(
            {.durability = StateDatabase::Durability::Now,
             .work = std::move(work),
             .done = [&done](Result<void> result) { done.set_value(std::move(result)); }});
        return left ? done.get_future().get() : fail(ErrorCode::Overloaded, "no room");
    }

    template <typename Value>
    Result<Value> get(std::function<Result<Value>(SqliteDatabase&)> work) {
        std::optional<Result<Value>> value;
        BJ_TRY_VOID(perform([&](SqliteDatabase& database) -> Result<void> {
            value = work(database);
            return *value ? Result<void>{} : fail(value->error());
        }));
        return std::move(*value);
    }

    // Without the server.
    void in_directory(const std::function<void(SqliteDatabase&)>& work) {
        const auto before = std::filesystem::current_path();
        std::filesystem::current_path(root_ + "/state");
        {
            Result<SqliteDatabase> database = SqliteDatabase::open("state.sqlite3");
            ASSERT_TRUE(database);
            work(*database);
        }
        std::filesystem::current_path(before);
    }

    [[nodiscard]] std::string file() const { return root_ + "/state/state.sqlite3"; }
    [[nodiscard]] std::string content() const {
        std::ifstream stream(file(), std::ios::binary);
        return {std::istreambuf_iterator<char>(stream), {}};
    }

    std::string root_;
    Log log_{"test", LogLevel::Error};
    std::unique_ptr<StateDatabase> database_;
};

RunRecord run_of(const std::string& principal, const std::string& id) {
    return {.view = {.execution_id = id,
                     .principal = principal,
                     .language = "python",
                     .state = RunState::Running,
                     .created = std::chrono::system_clock::now(),
                     .code_sha256 = "00",
                     .code_bytes = 7,
                     .grade = "strong"}};
}

TEST_F(StateDatabaseTest, ALaterJobTakesThePlaceOfOneThatTellsLess) {
    ASSERT_TRUE(start({.rest = std::chrono::minutes(1)}));
    std::vector<std::string> done;
    const auto leave = [&](const std::string& subject, const std::string& what) {
        return database_->submit({.work = [&done, what](SqliteDatabase&) -> Result<void> {
                                      done.push_back(what);
                                      return {};
                                  },
                                  .size = 10,
                                  .subject = subject});
    };
    for (const std::string turn : {"first ", "second "}) {
        EXPECT_TRUE(leave("a", turn + "a begins"));
        EXPECT_TRUE(leave("b", turn + "b begins"));
        EXPECT_TRUE(leave("", turn + "counted"));
        EXPECT_TRUE(leave("a", turn + "a ends"));
        EXPECT_TRUE(leave("", turn + "counted"));
        EXPECT_TRUE(perform([](SqliteDatabase&) -> Result<void> { return {}; }));
    }
    const std::vector<std::string> expected{"first a ends",   "first b begins", "first counted",
                                            "first counted",  "second a ends",  "second b begins",
                                            "second counted", "second counted"};
    EXPECT_EQ(done, expected);
}

TEST_F(StateDatabaseTest, WhatNobodyWaitsForRestsUntilSomebodyDoes) {
    ASSERT_TRUE(start({.rest = std::chrono::hours(1)}));
    std::vector<int> order;  // the promise below comes after it
    for (const int number : {1, 2}) {
        EXPECT_TRUE(database_->submit({.work = [&order, number](SqliteDatabase&) -> Result<void> {
            order.push_back(number);
            return {};
        }}));
    }
    EXPECT_TRUE(perform([&order](SqliteDatabase&) -> Result<void> {
        order.push_back(3);
        return {};
    }));
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST_F(StateDatabaseTest, WhatRestsIsWrittenAtTheEnd) {
    ASSERT_TRUE(start({.rest = std::chrono::hours(1)}));
    bool done = false;
    EXPECT_TRUE(database_->submit({.work = [&done](SqliteDatabase&) -> Result<void> {
        done = true;
        return {};
    }}));
    database_->stop();
    EXPECT_TRUE(done);
}

TEST_F(StateDatabaseTest, ALongQueueDoesNotRest) {
    ASSERT_TRUE(start({.rest = std::chrono::hours(1)}));
    constexpr int kMany = 300;
    std::promise<void> all;
    int count = 0;
    for (int number = 0; number < kMany; ++number) {
        EXPECT_TRUE(database_->submit({.work = [&](SqliteDatabase&) -> Result<void> {
            if (++count == 256) {
                all.set_value();
            }
            return {};
        }}));
    }
    all.get_future().get();
    database_->stop();
    EXPECT_EQ(count, kMany);
}

TEST_F(StateDatabaseTest, RemembersRunsBeyondItsEnd) {
    ASSERT_TRUE(start());
    RunRecord run = run_of("ann", "one");
    run.view.conversation_id = "c";
    ASSERT_TRUE(perform([&](SqliteDatabase& db) { return write_run(db, run); }));
    run.view.state = RunState::Ended;
    run.view.status = execution::Status::Timeout;
    run.view.exit_code = 3;
    run.view.usage.cpu = std::chrono::milliseconds(1500);
    run.result = R"({"x":1})";
    ASSERT_TRUE(perform([&](SqliteDatabase& db) { return write_run(db, run); }));
    ASSERT_TRUE(start());

    const auto found =
        get<RunRecord>([](SqliteDatabase& db) { return find_run(db, "ann", "one"); });
    ASSERT_TRUE(found) << found.error().describe();
    EXPECT_EQ(found->result, run.result);
    EXPECT_EQ(found->view.status, execution::Status::Timeout);
    EXPECT_EQ(found->view.exit_code, 3);
    EXPECT_EQ(found->view.conversation_id, "c");
    EXPECT_EQ(found->view.usage.cpu, run.view.usage.cpu);
    EXPECT_EQ(found->view.code_bytes, 7U);
}

TEST_F(StateDatabaseTest, SaysOfAnothersRunWhatItSaysOfNone) {
    ASSERT_TRUE(start());
    ASSERT_TRUE(perform([](SqliteDatabase& db) { return write_run(db, run_of("ann", "one")); }));
    const auto others =
        get<RunRecord>([](SqliteDatabase& db) { return find_run(db, "bob", "one"); });
    const auto none = get<RunRecord>([](SqliteDatabase& db) { return find_run(db, "bob", "x"); });
    ASSERT_FALSE(others);
    EXPECT_EQ(others.error().code, ErrorCode::NotFound);
    EXPECT_EQ(others.error().message, none.error().message);
    EXPECT_TRUE(get<RunRecord>([](SqliteDatabase& db) { return find_run(db, {}, "one"); }));
}

TEST_F(StateDatabaseTest, ListsInPagesNewestFirst) {
    ASSERT_TRUE(start());
    for (int index = 0; index < 5; ++index) {
        ASSERT_TRUE(perform([&](SqliteDatabase& db) {
            return write_run(db, run_of(index == 2 ? "bob" : "ann", std::to_string(index)));
        }));
    }
    execution::RunQuery query{.principal = "ann", .limit = 3};
    auto page = get<execution::RunPage>([&](SqliteDatabase& db) { return list_runs(db, query); });
    ASSERT_TRUE(page);
    ASSERT_EQ(page->runs.size(), 3U);
    EXPECT_EQ(page->runs[0].execution_id, "4");
    EXPECT_EQ(page->runs[2].execution_id, "1");
    query.after = page->next;
    page = get<execution::RunPage>([&](SqliteDatabase& db) { return list_runs(db, query); });
    ASSERT_EQ(page->runs.size(), 1U);
    EXPECT_EQ(page->runs[0].execution_id, "0");
    EXPECT_EQ(page->next, "");
    query.after = "1 OR 1=1";
    page = get<execution::RunPage>([&](SqliteDatabase& db) { return list_runs(db, query); });
    ASSERT_FALSE(page);
    EXPECT_EQ(page.error().code, ErrorCode::InvalidArgument);
}

TEST_F(StateDatabaseTest, ForgetsTheOldestRunsAndTheirResults) {
    ASSERT_TRUE(start());
    for (int index = 0; index < 5; ++index) {
        ASSERT_TRUE(perform([&](SqliteDatabase& db) {
            RunRecord run = run_of("ann", std::to_string(index));
            run.view.state = index == 1 ? RunState::Running : RunState::Ended;
            run.result = "{}";
            return write_run(db, run);
        }));
    }
    const auto left = get<Upkeep>([](SqliteDatabase& db) { return forget_runs(db, {.count = 2}); });
    EXPECT_EQ(left.value_or(Upkeep::More), Upkeep::Nothing);
    const auto page = get<execution::RunPage>([](SqliteDatabase& db) { return list_runs(db, {}); });
    ASSERT_EQ(page->runs.size(), 3U);  // one still runs
    EXPECT_EQ(page->runs.back().execution_id, "1");
    const auto results = get<SqlValue>(
        [](SqliteDatabase& db) { return db.value("SELECT count(*) FROM run_results"); });
    EXPECT_EQ(results->integer(), 3);
}

TEST_F(StateDatabaseTest, ComesAgainSoonWhereMoreIsTooOldThanGoesAtOnce) {
    ASSERT_TRUE(start());
    ASSERT_TRUE(perform([](SqliteDatabase& db) -> Result<void> {
        for (int index = 0; index < 2000; ++index) {
            RunRecord run = run_of("ann", std::to_string(index));
            run.view.state = RunState::Ended;
            run.result = std::string(4000, 'r');
            BJ_TRY_VOID(write_run(db, run));
        }
        return {};
    }));
    ASSERT_TRUE(start({.upkeep_pause = std::chrono::hours(1), .upkeep = [](SqliteDatabase& db) {
                           return forget_runs(db, {.count = 2});
                       }}));
    std::int64_t runs = 2000;
    std::int64_t free = 0;
    const TimePoint deadline = Clock::now() + std::chrono::seconds(60);
    while ((runs > 2 || free >= 1000) && Clock::now() < deadline) {
        ASSERT_TRUE(perform([&](SqliteDatabase& db) -> Result<void> {
            BJ_TRY(const SqlValue counted, db.value("SELECT count(*) FROM runs"));
            BJ_TRY(const SqlValue pages, db.value("PRAGMA freelist_count"));
            runs = counted.integer();
            free = pages.integer();
            return {};
        }));
    }
    EXPECT_EQ(runs, 2);
    EXPECT_LT(free, 1000);
}

TEST_F(StateDatabaseTest, EndsRunsThatAnEarlierServerLeft) {
    ASSERT_TRUE(start());
    ASSERT_TRUE(perform([](SqliteDatabase& db) { return write_run(db, run_of("ann", "one")); }));
    ASSERT_TRUE(perform([](SqliteDatabase& db) { return end_open_runs(db, "gone"); }));
    const auto found =
        get<RunRecord>([](SqliteDatabase& db) { return find_run(db, "ann", "one"); });
    EXPECT_EQ(found->view.state, RunState::Ended);
    EXPECT_EQ(found->view.failure, "gone");
}

TEST_F(StateDatabaseTest, GivesAnAnswerAgain) {
    ASSERT_TRUE(start());
    const execution::RepeatKey key{.principal = "ann", .key = "k", .digest = "d"};
    const auto claim = [&](const execution::RepeatKey& wanted) {
        const auto got =
            get<RepeatClaim>([&](SqliteDatabase& db) { return claim_key(db, wanted); });
        return got ? *got : RepeatClaim{};
    };
    EXPECT_EQ(claim(key).kind, RepeatClaim::Kind::Fresh);
    EXPECT_EQ(claim(key).kind, RepeatClaim::Kind::InProgress);
    EXPECT_EQ(claim({"bob", "k", "d"}).kind, RepeatClaim::Kind::Fresh);
    EXPECT_EQ(claim({"ann", "k", "other"}).kind, RepeatClaim::Kind::Different);
    ASSERT_TRUE(perform([&](SqliteDatabase& db) {
        return settle_key(db, key, {.status = 201, .headers = {{"a", "b"}}, .body = "text"});
    }));
    const RepeatClaim again = claim(key);
    ASSERT_EQ(again.kind, RepeatClaim::Kind::Answered);
    EXPECT_EQ(again.answer->status, 201U);
    EXPECT_EQ(again.answer->headers.at("a"), "b");
    EXPECT_EQ(again.answer->body, "text");
    ASSERT_TRUE(perform([](SqliteDatabase& db) { return release_open_keys(db); }));
    EXPECT_EQ(claim({"bob", "k", "d"}).kind, RepeatClaim::Kind::Fresh);
    EXPECT_EQ(claim(key).kind, RepeatClaim::Kind::Answered);
}

TEST_F(StateDatabaseTest, ForgetsTheOldestAnswersOfWhoHasTooMuch) {
    ASSERT_TRUE(start());
    const std::string large(4UL * 1024 * 1024, 'x');
    const auto answer = [&](const std::string& principal, int number, const std::string& body) {
        const execution::RepeatKey key{principal, std::to_string(number), "d"};
        return perform([&](SqliteDatabase& db) -> Result<void> {
            BJ_TRY_VOID(claim_key(db, key));
            return settle_key(db, key, {.status = 200, .body = body});
        });
    };
    const auto claim = [&](const std::string& principal, int number) {
        const execution::RepeatKey key{principal, std::to_string(number), "d"};
        const auto got = get<RepeatClaim>([&](SqliteDatabase& db) { return claim_key(db, key); });
        return got ? got->kind : RepeatClaim::Kind::Fresh;
    };
    ASSERT_TRUE(answer("bob", 0, large));
    for (int number = 0; number < 17; ++number) {  // of 16 there is not room for all headers
        ASSERT_TRUE(answer("ann", number, large));
    }
    EXPECT_EQ(claim("ann", 0), RepeatClaim::Kind::Forgotten);
    EXPECT_EQ(claim("ann", 1), RepeatClaim::Kind::Forgotten);
    EXPECT_EQ(claim("ann", 2), RepeatClaim::Kind::Answered);
    EXPECT_EQ(claim("ann", 16), RepeatClaim::Kind::Answered);
    EXPECT_EQ(claim("bob", 0), RepeatClaim::Kind::Answered);
    const execution::RepeatKey other{"ann", "0", "of another request"};
    EXPECT_EQ(get<RepeatClaim>([&](SqliteDatabase& db) { return claim_key(db, other); })->kind,
              RepeatClaim::Kind::Different);
    EXPECT_TRUE(perform([](SqliteDatabase& db) -> Result<void> {
        const execution::RepeatKey key{"ann", "unkept", "d"};
        BJ_TRY_VOID(claim_key(db, key));
        return settle_unkept(db, key, 200);
    }));
    const execution::RepeatKey unkept{"ann", "unkept", "d"};
    EXPECT_EQ(get<RepeatClaim>([&](SqliteDatabase& db) { return claim_key(db, unkept); })->kind,
              RepeatClaim::Kind::Forgotten);
}

TEST_F(StateDatabaseTest, TakesABoundedNumberOfKeysOfOne) {
    ASSERT_TRUE(start());
    const auto claim = [](SqliteDatabase& db, const std::string& principal, int number) {
        return claim_key(db, {principal, std::to_string(number), "d"});
    };
    constexpr int kMost = 10'000;
    ASSERT_TRUE(perform([&](SqliteDatabase& db) -> Result<void> {
        for (int number = 0; number < kMost; ++number) {
            BJ_TRY_VOID(claim(db, "ann", number));
        }
        return {};
    }));
    const auto once = [&](const std::string& principal, int number) {
        return perform([&](SqliteDatabase& db) -> Result<void> {
            BJ_TRY_VOID(claim(db, principal, number));
            return {};
        });
    };
    const Result<void> refused = once("ann", kMost);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::QuotaReached);
    EXPECT_GT(refused.error().retry_after.count(), 0);
    EXPECT_TRUE(once("bob", 0));
    EXPECT_TRUE(once("ann", 0)) << "is known already";
    ASSERT_TRUE(perform([](SqliteDatabase& db) { return release_key(db, {"ann", "1", "d"}); }));
    EXPECT_TRUE(once("ann", kMost));
    ASSERT_TRUE(perform([](SqliteDatabase& db) { return release_open_keys(db); }));
    const auto left = get<SqlValue>(
        [](SqliteDatabase& db) { return db.value("SELECT count(*) FROM repeat_tallies"); });
    EXPECT_EQ(left->integer(), 0);
}

TEST_F(StateDatabaseTest, CountsAnswersOfAnEarlierVersion) {
    std::filesystem::create_directory(root_ + "/state");
    in_directory([](SqliteDatabase& old) {
        for (std::size_t step = 0; step < 3; ++step) {
            ASSERT_TRUE(old.run(state_migrations()[step]));
        }
        ASSERT_TRUE(
            old.run("PRAGMA user_version = 3;"
                    "INSERT INTO about VALUES ('stopped', 'cleanly');"
                    "INSERT INTO repeat_keys VALUES ('ann', 'a', 'd', 1, 200, '{}', 'öl'),"
                    "('ann', 'b', 'd', 1, NULL, NULL, NULL)"));
    });
    ASSERT_TRUE(start());
    const auto tally = get<std::vector<SqlRow>>(
        [](SqliteDatabase& db) { return db.query("SELECT keys, bytes FROM repeat_tallies"); });
    ASSERT_TRUE(tally);
    ASSERT_EQ(tally->size(), 1U);
    EXPECT_EQ(tally->front()[0].integer(), 2);
    EXPECT_EQ(tally->front()[1].integer(), 5);
}

TEST_F(StateDatabaseTest, LetsAMarkBeUsedOnce) {
    ASSERT_TRUE(start());
    const auto use = [&](execution::WallTime expires) {
        return perform([&](SqliteDatabase& db) { return use_mark(db, "m", expires); });
    };
    EXPECT_TRUE(use(execution::kNever));
    const Result<void> second = use(execution::kNever);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::Conflict);
    ASSERT_TRUE(get<Upkeep>([](SqliteDatabase& db) { return forget_requests(db); }));
    EXPECT_FALSE(use(execution::kNever));
}

TEST_F(StateDatabaseTest, ForgetsABoundedPartOfWhatHasExpired) {
    ASSERT_TRUE(start());
    ASSERT_TRUE(perform([](SqliteDatabase& db) -> Result<void> {
        for (int index = 0; index < 600; ++index) {
            BJ_TRY_VOID(use_mark(db, std::to_string(index), execution::WallTime()));
        }
        return {};
    }));
    const auto forget = [&] {
        return get<Upkeep>([](SqliteDatabase& db) { return forget_requests(db); });
    };
    EXPECT_EQ(forget().value_or(Upkeep::Nothing), Upkeep::More);
    EXPECT_EQ(forget().value_or(Upkeep::More), Upkeep::Nothing);
    const auto marks = get<SqlValue>(
        [](SqliteDatabase& db) { return db.value("SELECT count(*) FROM used_marks"); });
    EXPECT_EQ(marks->integer(), 0);
}

TEST_F(StateDatabaseTest, AddsUsageUp) {
    ASSERT_TRUE(start());
    for (int index = 0; index < 3; ++index) {
        ASSERT_TRUE(perform([](SqliteDatabase& db) {
            return add_usage(db, {"ann", "2026-01-31", 1, std::chrono::milliseconds(500)});
        }));
    }
    using Found = std::vector<execution::DailyUsage>;
    const auto found = get<Found>([](SqliteDatabase& db) { return find_usage(db, {}); });
    ASSERT_EQ(found->size(), 1U);
    EXPECT_EQ(found->front().runs, 3U);
    EXPECT_EQ(found->front().cpu, std::chrono::milliseconds(1500));
    const auto other =
        get<Found>([](SqliteDatabase& db) { return find_usage(db, {.principal = "bob"}); });
    EXPECT_TRUE(other->empty());
}

TEST_F(StateDatabaseTest, UndoesAJobThatFailsAndKeepsTheOthers) {
    ASSERT_TRUE(start());
    const Result<void> failed = perform([](SqliteDatabase& db) -> Result<void> {
        BJ_TRY_VOID(use_mark(db, "a", execution::kNever));
        return fail(ErrorCode::Denied, "no");
    });
    EXPECT_EQ(failed.error().code, ErrorCode::Denied);
    EXPECT_TRUE(perform([](SqliteDatabase& db) { return use_mark(db, "a", execution::kNever); }));
}

TEST_F(StateDatabaseTest, TakesNoMoreThanItsQueueHolds) {
    ASSERT_TRUE(start({.queue = 2}));
    std::promise<void> open;
    std::promise<void> begun;
    const auto gate = open.get_future().share();
    ASSERT_TRUE(database_->submit({.work = [&begun, gate](SqliteDatabase&) -> Result<void> {
        begun.set_value();
        gate.wait();
        return {};
    }}));
    begun.get_future().wait();
    const auto nothing = [](SqliteDatabase&) -> Result<void> { return {}; };
    EXPECT_TRUE(database_->submit({.work = nothing}));
    EXPECT_TRUE(database_->submit({.work = nothing}));
    EXPECT_FALSE(database_->submit({.work = nothing}));
    open.set_value();
}

TEST_F(StateDatabaseTest, WritesOutWhatIsLeftWhenItStops) {
    ASSERT_TRUE(start());
    for (int index = 0; index < 1000; ++index) {
        ASSERT_TRUE(database_->submit({.work = [index](SqliteDatabase& db) {
            return write_run(db, run_of("ann", std::to_string(index)));
        }}));
    }
    ASSERT_TRUE(start());
    const auto count =
        get<SqlValue>([](SqliteDatabase& db) { return db.value("SELECT count(*) FROM runs"); });
    EXPECT_EQ(count->integer(), 1000);
    EXPECT_FALSE(std::filesystem::exists(file() + "-journal"));
}

// Each earlier form, made by the steps that led to it.
TEST_F(StateDatabaseTest, BringsEveryEarlierVersionToTheNewest) {
    for (std::size_t version = 0; version < state_migrations().size(); ++version) {
        ASSERT_TRUE(start());
        database_.reset();
        std::filesystem::remove_all(root_ + "/state");
        std::filesystem::create_directory(root_ + "/state");
        in_directory([version](SqliteDatabase& old) {
            for (std::size_t step = 0; step < version; ++step) {
                ASSERT_TRUE(old.run(state_migrations()[step]));
            }
            ASSERT_TRUE(old.run("PRAGMA user_version = " + std::to_string(version)));
            if (version > 0) {
                ASSERT_TRUE(write_run(old, run_of("ann", "old")));
            }
        });
        const Result<void> started = start();
        ASSERT_TRUE(started) << version << ": " << started.error().describe();
        EXPECT_TRUE(perform([](SqliteDatabase& db) { return add_usage(db, {"a", "b", 1, {}}); }));
        EXPECT_TRUE(
            perform([](SqliteDatabase& db) { return use_mark(db, "m", execution::kNever); }));
        if (version > 0) {
            EXPECT_TRUE(
                get<RunRecord>([](SqliteDatabase& db) { return find_run(db, "ann", "old"); }));
        }
    }
}

TEST_F(StateDatabaseTest, RefusesAVersionThatItDoesNotKnow) {
    ASSERT_TRUE(start());
    ASSERT_TRUE(perform([](SqliteDatabase& db) { return db.run("PRAGMA user_version = 1000"); }));
    database_.reset();
    const std::string before = content();
    const Result<void> started = start();
    ASSERT_FALSE(started);
    EXPECT_NE(started.error().message.find(file()), std::string::npos);
    EXPECT_NE(started.error().message.find("version 1000"), std::string::npos);
    EXPECT_EQ(content(), before);
}

TEST_F(StateDatabaseTest, LeavesAFileThatIsNoDatabaseAsItIs) {
    std::filesystem::create_directory(root_ + "/state");
    const std::string text(10'000, 'x');
    std::ofstream(file()) << text;
    const Result<void> started = start();
    ASSERT_FALSE(started);
    EXPECT_NE(started.error().message.find(file()), std::string::npos);
    EXPECT_NE(started.error().message.find("move it"), std::string::npos);
    EXPECT_EQ(content(), text);
}

TEST_F(StateDatabaseTest, LooksWhetherItIsWholeAfterACrash) {
    ASSERT_TRUE(start());
    for (int index = 0; index < 200; ++index) {
        RunRecord run = run_of("ann", std::to_string(index));
        run.result = std::string(2000, 'r');
        ASSERT_TRUE(perform([&](SqliteDatabase& db) { return write_run(db, run); }));
    }
    database_.reset();
    const auto overwrite = [this](std::uintmax_t from, std::size_t count) {
        std::fstream stream(file(), std::ios::binary | std::ios::in | std::ios::out);
        stream.seekp(static_cast<std::streamoff>(from));
        stream << std::string(count, '\xff');
    };
    // As a crash would leave it: not marked as ended.
    in_directory([](SqliteDatabase& db) {
        EXPECT_TRUE(db.run("UPDATE about SET value = 'not yet' WHERE name = 'stopped'"));
        EXPECT_TRUE(db.run("PRAGMA wal_checkpoint(TRUNCATE)"));
    });
    overwrite(std::filesystem::file_size(file()) / 2, 20'000);
    const std::string before = content();
    const Result<void> started = start();
    ASSERT_FALSE(started);
    EXPECT_NE(started.error().message.find("damaged"), std::string::npos)
        << started.error().describe();
    EXPECT_EQ(content(), before);
}

TEST_F(StateDatabaseTest, FollowsNoLink) {
    std::filesystem::create_directory(root_ + "/state");
    std::ofstream(root_ + "/elsewhere") << "";
    std::filesystem::create_symlink(root_ + "/elsewhere", file());
    EXPECT_FALSE(start());
    EXPECT_EQ(std::filesystem::file_size(root_ + "/elsewhere"), 0U);
}

TEST_F(StateDatabaseTest, KeepsItsFilesToItself) {
    ASSERT_TRUE(start());
    for (const char* ending : {"", "-wal"}) {
        const auto mode = std::filesystem::status(file() + ending).permissions();
        EXPECT_EQ(mode & (std::filesystem::perms::group_all | std::filesystem::perms::others_all),
                  std::filesystem::perms::none);
    }
    EXPECT_NE(std::filesystem::current_path(), root_ + "/state");
}

}  // namespace
}  // namespace belljar::storage
