#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "mcp/changes.h"
#include "mcp/provider.h"

namespace belljar::mcp {

// What a fixture answers in one round.
using FixtureAnswer = RpcResult<Round<ToolOutcome>>;

// A tool that exists for tests of the protocol: it has no use, and needs no right.
struct FixtureTool {
    using Handler = std::function<Task<FixtureAnswer>(ToolRequest, engine::CancellationPtr)>;

    ToolDefinition definition{};
    Handler handler{};
};

// What a fixture is made of. The text is JSON of ours.
[[nodiscard]] json::object parse_fixture(std::string_view text);
[[nodiscard]] ToolDefinition define_fixture(
    std::string_view name, std::string_view description,
    std::string_view input_schema = R"({"type": "object"})");
// For what is known without waiting.
[[nodiscard]] FixtureTool::Handler at_once(std::function<FixtureAnswer(const ToolRequest&)> answer);
[[nodiscard]] FixtureAnswer say(std::string text);
// The argument, or nothing.
[[nodiscard]] std::string text_argument(const ToolRequest& request, std::string_view name);
// Returns early when cancelled.
Task<void> pause_fixture(std::chrono::milliseconds time, engine::CancellationPtr cancellation);

// A picture of one red pixel, and a sound of four samples.
[[nodiscard]] std::string fixture_png();
[[nodiscard]] std::string fixture_wav();

// Those that answer by themselves: content of every kind, notifications, headers. Borrows the
// changes.
[[nodiscard]] std::vector<FixtureTool> plain_fixtures(Changes& changes);
// Those that ask their client something.
[[nodiscard]] std::vector<FixtureTool> asking_fixtures();
// Those that go on as tasks.
[[nodiscard]] std::vector<FixtureTool> task_fixtures();

}  // namespace belljar::mcp
