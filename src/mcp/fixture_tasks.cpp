#include <fmt/format.h>

#include <algorithm>

#include "mcp/fixture_tools.h"

namespace belljar::mcp {
namespace {

using engine::CancellationPtr;

constexpr std::string_view kNameSchema = R"({"type": "object",
    "properties": {"name": {"type": "string"}}, "required": ["name"]})";
constexpr std::string_view kComputeSchema = R"({"type": "object",
    "properties": {"seconds": {"type": "integer", "minimum": 0, "maximum": 60},
        "label": {"type": "string"}}})";
constexpr std::string_view kFileSchema = R"({"type": "object",
    "properties": {"filename": {"type": "string"}}})";

constexpr std::string_view kAskDeletion = R"({
    "method": "elicitation/create",
    "params": {"message": "Delete it?",
        "requestedSchema": {"type": "object",
            "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]}}})";
constexpr std::string_view kAskTaskName = R"({
    "method": "elicitation/create",
    "params": {"message": "What is your name?",
        "requestedSchema": {"type": "object",
            "properties": {"name": {"type": "string"}}, "required": ["name"]}}})";

FixtureTool as_task(FixtureTool tool, TaskUse use) {
    tool.definition.tasks = use;
    return tool;
}

Task<FixtureAnswer> compute(ToolRequest request, CancellationPtr cancellation) {
    constexpr std::int64_t kLongest = 60;
    const json::value* given = request.arguments.if_contains("seconds");
    const std::int64_t wanted = given != nullptr && given->is_int64() ? given->get_int64() : 0;
    const std::chrono::seconds time(std::clamp<std::int64_t>(wanted, 0, kLongest));
    co_await pause_fixture(time, cancellation);
    co_return say(fmt::format("Computed for {} seconds.", time.count()));
}

Task<FixtureAnswer> fail_later(ToolRequest /*request*/, CancellationPtr cancellation) {
    co_await pause_fixture(std::chrono::seconds(1), std::move(cancellation));
    co_return ToolOutcome{.text = "The job failed, as it was meant to.", .failed = true};
}

FixtureAnswer confirm(const ToolRequest& request) {
    if (request.asker.inputs.contains("confirm")) {
        return say(fmt::format("Asked about {}.", text_argument(request, "filename")));
    }
    return InputNeeded{.requests = {{"confirm", parse_fixture(kAskDeletion)}}};
}

FixtureAnswer ask_two(const ToolRequest& request) {
    if (request.asker.inputs.contains("name") && request.asker.inputs.contains("confirm")) {
        return say("Both were answered.");
    }
    return InputNeeded{.requests = {{"name", parse_fixture(kAskTaskName)},
                                    {"confirm", parse_fixture(kAskDeletion)}}};
}

FixtureAnswer greet_later(const ToolRequest& request) {
    const json::value* answer = request.asker.inputs.if_contains("user_name");
    if (answer == nullptr) {
        return InputNeeded{.requests = {{"user_name", parse_fixture(kAskTaskName)}}};
    }
    return say(fmt::format("Done, as was answered: {}", to_text(*answer)));
}

}  // namespace

std::vector<FixtureTool> task_fixtures() {
    std::vector<FixtureTool> tools;
    tools.push_back({define_fixture("greet", "Greets, at once.", kNameSchema),
                     at_once([](const ToolRequest& request) {
                         return say(fmt::format("Hello, {}!", text_argument(request, "name")));
                     })});
    tools.push_back(
        as_task({define_fixture("slow_compute", "Takes its time.", kComputeSchema), compute},
                TaskUse::Always));
    tools.push_back(as_task({define_fixture("failing_job", "Fails after a while."), fail_later},
                            TaskUse::Required));
    tools.push_back(as_task({define_fixture("protocol_error_job", "Ends with an error."),
                             at_once([](const ToolRequest&) -> FixtureAnswer {
                                 return rpc_fail(RpcCode::InternalError,
                                                 "The job ended with an error, as it was meant "
                                                 "to.");
                             })},
                            TaskUse::Always));
    tools.push_back(
        as_task({define_fixture("confirm_delete", "Asks before it goes on.", kFileSchema),
                 at_once(confirm)},
                TaskUse::Always));
    tools.push_back(
        as_task({define_fixture("multi_input", "Asks two things at a time."), at_once(ask_two)},
                TaskUse::Always));
    tools.push_back(
        as_task({define_fixture("test_tool_with_task", "Asks for a name, then goes on as a task."),
                 at_once(greet_later)},
                TaskUse::RequiredAfterInput));
    return tools;
}

}  // namespace belljar::mcp
