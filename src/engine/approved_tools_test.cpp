#include "engine/approved_tools.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

namespace belljar::engine {
namespace {

namespace fs = std::filesystem;
using approved::Collection;
using approved::Module;

Module make(const std::string& file, const std::string& content = "x") {
    return {.approval = {.file = file}, .content = content};
}

TEST(ToolShelf, GivesEachCallerWhatItMayUse) {
    ToolShelf shelf;
    EXPECT_EQ(shelf.common()->digest, "");
    Module secret = make("secret.py");
    secret.approval.roles = {"analyst"};
    secret.approval.needs_logs = true;
    shelf.adopt({.modules = {make("open.py"), secret}});
    EXPECT_EQ(shelf.common()->modules, std::vector<std::string>{"open"});
    EXPECT_FALSE(shelf.common()->needs_logs);
    const approved::PackPtr analyst = shelf.pack_for({.roles = {"analyst"}}).value();
    EXPECT_EQ(analyst->modules, (std::vector<std::string>{"open", "secret"}));
    EXPECT_TRUE(analyst->needs_logs);
    // Who may use the same has the same.
    EXPECT_EQ(shelf.pack_for({.principal = "bob", .roles = {"x", "analyst"}}).value(), analyst);
    EXPECT_EQ(shelf.pack_for({.principal = "ada"}).value(), shelf.common());
    EXPECT_EQ(shelf.pack_for({.tool_sets = std::vector<std::string>{}}).value()->digest, "");
}

TEST(ToolShelf, WhatAJarHasStaysWhatItWas) {
    ToolShelf shelf;
    shelf.adopt({.modules = {make("a.py", "1")}});
    const approved::PackPtr first = shelf.common();
    shelf.adopt({.modules = {make("a.py", "2")}});
    EXPECT_NE(shelf.common()->digest, first->digest);
    EXPECT_FALSE(same(shelf.common(), first));
    shelf.adopt({.modules = {make("a.py", "1")}});
    EXPECT_NE(shelf.common(), first);
    EXPECT_TRUE(same(shelf.common(), first));
}

TEST(ToolShelf, NoToolsAreTheSameAsNone) {
    const approved::PackPtr none;
    const auto empty = std::make_shared<const approved::Pack>();
    const approved::PackPtr some = approved::make_pack({}).value();
    EXPECT_TRUE(same(none, none));
    EXPECT_TRUE(same(none, empty));
    EXPECT_TRUE(same(empty, some));
    const Module module = make("a.py");
    EXPECT_FALSE(same(none, approved::make_pack({&module}).value()));
    EXPECT_FALSE(same(approved::make_pack({&module}).value(), none));
}

class ApprovedToolsTest : public testing::Test {
   protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "approved-tools-test-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        place = name;
        tools.emplace(context.get_executor(),
                      approved::Source{.path = name, .unlisted = config::Unlisted::Serve}, log);
    }
    void TearDown() override {
        tools->stop();
        context.restart();
        context.run_for(std::chrono::seconds(1));
        fs::remove_all(place);
    }

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(place / name) << text;
    }

    // Modules called bad.py cannot be imported.
    void begin() {
        asio::co_spawn(context, run(),
                       [](const std::exception_ptr& failure) { EXPECT_FALSE(failure); });
    }
    Task<void> run() {
        co_await tools->begin(
            [this](Collection collection) { return try_out(std::move(collection)); },
            [this](const execution::SecurityEvent& event) { events.push_back(event.name); });
        co_await tools->watch([this] { ++renewed; });
    }
    Task<Result<Collection>> try_out(Collection collection) {
        ++trials;
        if (no_jars) {
            co_return fail(ErrorCode::Unavailable, "no jars");
        }
        if (std::erase_if(collection.modules,
                          [](const Module& one) { return one.approval.file == "bad.py"; }) > 0) {
            collection.refusals.push_back({.file = "bad.py", .reason = "import_failed"});
        }
        co_return collection;
    }

    template <typename Condition>
    [[nodiscard]] bool becomes(Condition condition) {
        const TimePoint deadline = Clock::now() + std::chrono::seconds(20);
        while (!condition() && Clock::now() < deadline) {
            context.restart();
            context.run_one_for(std::chrono::milliseconds(20));
        }
        return condition();
    }
    [[nodiscard]] std::size_t served() const { return tools->shelf().common()->modules.size(); }

    fs::path place;
    asio::io_context context;
    Log log{"test", LogLevel::Error};
    std::optional<ApprovedTools> tools;
    std::vector<std::string> events;
    std::size_t renewed = 0;
    std::size_t trials = 0;
    bool no_jars = false;
};

TEST_F(ApprovedToolsTest, AreServedOnceTheyAreTried) {
    write("a.py", "A = 1\n");
    write("bad.py", "1 / 0\n");
    begin();
    EXPECT_TRUE(becomes([this] { return served() == 1; }));
    EXPECT_EQ(events, std::vector<std::string>{"import_failed"});
    write("b.py", "B = 1\n");
    EXPECT_TRUE(becomes([this] { return served() == 2 && renewed == 1; }));
    EXPECT_EQ(events.size(), 1U) << "what is known is told once";
    fs::remove(place / "bad.py");
    EXPECT_TRUE(becomes([this] { return renewed == 2; }));
    write("bad.py", "1 / 0\n");
    EXPECT_TRUE(becomes([this] { return events.size() == 2; }));
}

TEST_F(ApprovedToolsTest, AManifestThatIsWrongChangesNothing) {
    write("a.py", "A = 1\n");
    begin();
    EXPECT_TRUE(becomes([this] { return served() == 1; }));
    write("manifest.toml", "nonsense = 1\n");
    EXPECT_TRUE(becomes([this] { return !events.empty(); }));
    EXPECT_EQ(events, std::vector<std::string>{"manifest"});
    EXPECT_EQ(served(), 1U);
}

TEST_F(ApprovedToolsTest, WhatCouldNotBeTriedIsTriedAgain) {
    write("a.py", "A = 1\n");
    no_jars = true;
    begin();
    EXPECT_TRUE(becomes([this] { return trials >= 2; }));
    EXPECT_EQ(served(), 0U);
    no_jars = false;
    write("b.py", "B = 1\n");
    EXPECT_TRUE(becomes([this] { return served() == 2; }));
}

TEST_F(ApprovedToolsTest, AProgramThatRunsOnceTriesNothing) {
    write("a.py", "A = 1\n");
    write("bad.py", "1 / 0\n");
    tools->load();
    EXPECT_EQ(served(), 2U);
    EXPECT_EQ(trials, 0U);
}

TEST(ApprovedTools, MayBeNone) {
    asio::io_context context;
    const Log log{"test", LogLevel::Error};
    ApprovedTools tools(context.get_executor(), std::nullopt, log);
    tools.load();
    EXPECT_EQ(tools.shelf().common()->digest, "");
}

}  // namespace
}  // namespace belljar::engine
