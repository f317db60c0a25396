#include "mcp/fixture_tools.h"

#include <fmt/format.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/base64.h"
#include "mcp/notices.h"

namespace belljar::mcp {
namespace {

using engine::CancellationPtr;
using std::chrono::milliseconds;

constexpr milliseconds kStep(50);

Task<FixtureAnswer> give(FixtureAnswer answer) { co_return answer; }

Task<FixtureAnswer> make_progress(ToolRequest request, CancellationPtr cancellation) {
    constexpr double kAll = 100;
    tell_progress(request.asker, {.done = 0, .total = kAll});
    co_await pause_fixture(kStep, cancellation);
    tell_progress(request.asker, {.done = kAll / 2, .total = kAll});
    co_await pause_fixture(kStep, cancellation);
    tell_progress(request.asker, {.done = kAll, .total = kAll});
    co_return say("Progress was made.");
}

Task<FixtureAnswer> write_log(ToolRequest request, CancellationPtr cancellation) {
    tell_log(request.asker, Severity::Info, "Tool execution started");
    co_await pause_fixture(kStep, cancellation);
    tell_log(request.asker, Severity::Info, "Tool processing data");
    co_await pause_fixture(kStep, cancellation);
    tell_log(request.asker, Severity::Info, "Tool execution completed");
    co_return say("Log messages were written.");
}

// The client has to come back for the answer, if it can.
Task<FixtureAnswer> hang_up(ToolRequest request, CancellationPtr cancellation) {
    if (request.asker.hang_up) {
        request.asker.hang_up();
    }
    co_await pause_fixture(2 * kStep, cancellation);
    co_return say("The connection was ended before this answer.");
}

FixtureTool::Handler tell_of(Changes& changes, Change::Kind kind) {
    return at_once([&changes, kind](const ToolRequest&) {
        changes.tell({.kind = kind});
        return say("Whoever listens was told of a change.");
    });
}

FixtureAnswer show_everything(const ToolRequest& /*request*/) {
    return ToolOutcome{.text = "Multiple content types test:",
                       .more = {Picture{.mime = "image/png", .data = fixture_png()},
                                EmbeddedResource{.uri = "test://mixed-content-resource",
                                                 .mime = "application/json",
                                                 .data = R"({"test":"data","value":123})"}}};
}

// Keywords that reach clients exactly as they stand here.
constexpr std::string_view kDialectSchema = R"({
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object",
        "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": false})";

constexpr std::string_view kHeaderSchema = R"({
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"]})";

void add_content_fixtures(std::vector<FixtureTool>& tools) {
    tools.push_back(
        {define_fixture("test_simple_text", "Gives a text."), at_once([](const ToolRequest&) {
             return say("This is a simple text response for testing.");
         })});
    tools.push_back({define_fixture("test_image_content", "Gives a picture."),
                     at_once([](const ToolRequest&) -> FixtureAnswer {
                         return ToolOutcome{
                             .more = {Picture{.mime = "image/png", .data = fixture_png()}}};
                     })});
    tools.push_back({define_fixture("test_audio_content", "Gives a sound."),
                     at_once([](const ToolRequest&) -> FixtureAnswer {
                         return ToolOutcome{
                             .more = {Audio{.mime = "audio/wav", .data = fixture_wav()}}};
                     })});
    tools.push_back({define_fixture("test_embedded_resource", "Gives a resource whole."),
                     at_once([](const ToolRequest&) -> FixtureAnswer {
                         return ToolOutcome{.more = {EmbeddedResource{
                                                .uri = "test://embedded-resource",
                                                .mime = "text/plain",
                                                .data = "This is an embedded resource content."}}};
                     })});
    tools.push_back({define_fixture("test_multiple_content_types", "Gives content of many kinds."),
                     at_once(show_everything)});
    tools.push_back({define_fixture("test_error_handling", "Fails."),
                     at_once([](const ToolRequest&) -> FixtureAnswer {
                         return ToolOutcome{
                             .text = "This tool intentionally returns an error for testing",
                             .failed = true};
                     })});
}

}  // namespace

json::object parse_fixture(std::string_view text) { return parse_json(text).value().as_object(); }

ToolDefinition define_fixture(std::string_view name, std::string_view description,
                              std::string_view input_schema) {
    return {.name = std::string(name),
            .description = std::string(description),
            .input_schema = parse_fixture(input_schema)};
}

FixtureTool::Handler at_once(std::function<FixtureAnswer(const ToolRequest&)> answer) {
    return [answer = std::move(answer)](const ToolRequest& request, const CancellationPtr&) {
        return give(answer(request));
    };
}

FixtureAnswer say(std::string text) { return ToolOutcome{.text = std::move(text)}; }

std::string text_argument(const ToolRequest& request, std::string_view name) {
    const json::value* value = request.arguments.if_contains(name);
    const json::string* text = value != nullptr ? value->if_string() : nullptr;
    return text != nullptr ? std::string(*text) : "";
}

Task<void> pause_fixture(milliseconds time, CancellationPtr cancellation) {
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, time);
    cancellation->on_request([&timer] { timer.cancel(); });
    if (!cancellation->requested()) {
        boost::system::error_code ignored;
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    cancellation->on_request(nullptr);
}

std::string fixture_png() {
    return decode_base64(
               "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAA"
               "AElFTkSuQmCC")
        .value();
}

std::string fixture_wav() {
    return decode_base64("UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQgAAAAAAEAfAADA4A==")
        .value();
}

std::vector<FixtureTool> plain_fixtures(Changes& changes) {
    std::vector<FixtureTool> tools;
    add_content_fixtures(tools);
    tools.push_back(
        {define_fixture("test_tool_with_progress", "Makes progress as it goes."), make_progress});
    tools.push_back(
        {define_fixture("test_tool_with_logging", "Writes log messages as it goes."), write_log});
    tools.push_back({define_fixture("test_logging_tool", "Writes one log message."),
                     at_once([](const ToolRequest& request) {
                         tell_log(request.asker, Severity::Info,
                                  "This is told to whoever asked for it.");
                         return say("A log message was written, if it was wanted.");
                     })});
    tools.push_back(
        {define_fixture("test_reconnection", "Ends its connection and answers on the next one."),
         hang_up});
    tools.push_back({define_fixture("test_trigger_tool_change", "Says that the tools changed."),
                     tell_of(changes, Change::Kind::Tools)});
    tools.push_back({define_fixture("test_trigger_prompt_change", "Says that the prompts changed."),
                     tell_of(changes, Change::Kind::Prompts)});
    tools.push_back({define_fixture("test_trigger_resource_change",
                                    "Says that test://watched-resource changed."),
                     at_once([&changes](const ToolRequest&) {
                         changes.tell(
                             {.kind = Change::Kind::Resource, .name = "test://watched-resource"});
                         return say("Whoever listens was told of a change.");
                     })});
    tools.push_back(
        {define_fixture("json_schema_2020_12_tool", "Has a schema of many keywords.",
                        kDialectSchema),
         at_once([](const ToolRequest&) { return say("The schema is what matters."); })});
    tools.push_back({define_fixture("test_header_argument",
                                    "Has an argument that a header repeats.", kHeaderSchema),
                     at_once([](const ToolRequest& request) {
                         return say(fmt::format("Region: {}", text_argument(request, "region")));
                     })});
    return tools;
}

}  // namespace belljar::mcp
