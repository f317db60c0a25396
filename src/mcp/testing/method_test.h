#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mcp/dispatcher.h"
#include "mcp/era.h"
#include "mcp/fixture_provider.h"

namespace belljar::mcp {

// The methods of the protocol over the fixtures, without a transport.
class MethodTest : public testing::Test {
   protected:
    // Whatever is still under way ends while everything that it uses is there.
    void TearDown() override {
        cancellation->request();
        tasks.stop();
        io.restart();
        io.poll();
    }

    // Runs until the coroutine has ended, and whatever else is under way meanwhile.
    template <typename T>
    T run(Task<T> task) {
        std::optional<T> value;
        asio::co_spawn(io, std::move(task), [&value](std::exception_ptr failure, T given) {
            EXPECT_FALSE(failure);
            value = std::move(given);
        });
        io.restart();
        while (!value && io.run_one() > 0) {
        }
        return std::move(value.value());
    }

    static Call modern_call(std::string_view method, json::object params = {},
                            json::object capabilities = {}) {
        params["_meta"] = json::object{{kProtocolVersionKey, "2026-07-28"},
                                       {kClientCapabilitiesKey, std::move(capabilities)}};
        return {.message = {.kind = Message::Kind::Request,
                            .id = 1,
                            .method = std::string(method),
                            .params = std::move(params)}};
    }

    static Call legacy_call(std::string_view method, json::object params = {}) {
        return {.message = {.kind = Message::Kind::Request,
                            .id = 1,
                            .method = std::string(method),
                            .params = std::move(params)},
                .revision = kNewestLegacyRevision};
    }

    // The whole answer.
    json::value answer(Call call) {
        Reply reply = run(dispatcher.answer(std::move(call), cancellation));
        return parse_json(text_of(std::move(reply))).value();
    }

    json::value ask(std::string_view method, json::object params = {},
                    json::object capabilities = {}) {
        return answer(modern_call(method, std::move(params), std::move(capabilities)));
    }

    json::value ask_legacy(std::string_view method, json::object params = {}) {
        return answer(legacy_call(method, std::move(params)));
    }

    static int error_of(const json::value& answered) {
        const json::value* error = answered.as_object().if_contains("error");
        return error != nullptr ? error->at("code").to_number<int>() : 0;
    }

    static json::object tasks_declared() {
        return {{"elicitation", json::object{}},
                {"extensions", json::object{{kTasksExtension, json::object{}}}}};
    }

    asio::io_context io;
    Log log{"test", LogLevel::Error};
    Changes changes;
    Tasks tasks{io.get_executor(), log, changes};
    FixtureProvider fixtures{changes};
    Dispatcher dispatcher{{.version = "1.2.3"}, {&fixtures}, changes, tasks, log};
    engine::CancellationPtr cancellation = std::make_shared<engine::Cancellation>();
};

}  // namespace belljar::mcp
