#include <fmt/format.h>

#include "mcp/fixture_tools.h"
#include "mcp/rounds.h"

namespace belljar::mcp {
namespace {

constexpr std::string_view kAskName = R"({
    "method": "elicitation/create",
    "params": {"message": "What is your name?",
        "requestedSchema": {"type": "object",
            "properties": {"name": {"type": "string"}}, "required": ["name"]}}})";

constexpr std::string_view kAskCapital = R"({
    "method": "sampling/createMessage",
    "params": {"maxTokens": 100, "messages": [{"role": "user",
        "content": {"type": "text", "text": "What is the capital of France?"}}]}})";

constexpr std::string_view kAskGreeting = R"({
    "method": "sampling/createMessage",
    "params": {"maxTokens": 50, "messages": [{"role": "user",
        "content": {"type": "text", "text": "Generate a greeting"}}]}})";

constexpr std::string_view kAskRoots = R"({"method": "roots/list", "params": {}})";

constexpr std::string_view kAskConfirmation = R"({
    "method": "elicitation/create",
    "params": {"message": "Please confirm",
        "requestedSchema": {"type": "object",
            "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}}})";

constexpr std::string_view kAskFirst = R"({
    "method": "elicitation/create",
    "params": {"message": "Step 1: What is your name?",
        "requestedSchema": {"type": "object",
            "properties": {"name": {"type": "string"}}, "required": ["name"]}}})";

constexpr std::string_view kAskSecond = R"({
    "method": "elicitation/create",
    "params": {"message": "Step 2: What is your favorite color?",
        "requestedSchema": {"type": "object",
            "properties": {"color": {"type": "string"}}, "required": ["color"]}}})";

constexpr std::string_view kDefaultsForm = R"({
    "method": "elicitation/create",
    "params": {"message": "Please check these values",
        "requestedSchema": {"type": "object", "required": [], "properties": {
            "name": {"type": "string", "description": "A name", "default": "John Doe"},
            "age": {"type": "integer", "description": "An age", "default": 30},
            "score": {"type": "number", "description": "A score", "default": 95.5},
            "status": {"type": "string", "description": "A status",
                "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "description": "A check", "default": true}}}}})";

constexpr std::string_view kChoicesForm = R"({
    "method": "elicitation/create",
    "params": {"message": "Please choose",
        "requestedSchema": {"type": "object", "required": [], "properties": {
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {"type": "string", "oneOf": [
                {"const": "value1", "title": "First Option"},
                {"const": "value2", "title": "Second Option"},
                {"const": "value3", "title": "Third Option"}]},
            "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]},
            "untitledMulti": {"type": "array",
                "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
            "titledMulti": {"type": "array", "items": {"anyOf": [
                {"const": "value1", "title": "First Choice"},
                {"const": "value2", "title": "Second Choice"},
                {"const": "value3", "title": "Third Choice"}]}}}}}})";

constexpr std::string_view kPromptSchema = R"({"type": "object",
    "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]})";
constexpr std::string_view kMessageSchema = R"({"type": "object",
    "properties": {"message": {"type": "string"}}, "required": ["message"]})";

FixtureAnswer ask(json::object requests, json::value state = nullptr) {
    return InputNeeded{.requests = std::move(requests), .state = std::move(state)};
}

FixtureAnswer ask_one(std::string_view key, std::string_view request, json::value state = nullptr) {
    return ask({{key, parse_fixture(request)}}, std::move(state));
}

// The answer of that key, if it is an object.
const json::object* answer_at(const ToolRequest& request, std::string_view key) {
    const json::value* answer = request.asker.inputs.if_contains(key);
    return answer != nullptr ? answer->if_object() : nullptr;
}

// The answer to an elicitation, if it is one.
const json::object* elicited(const ToolRequest& request, std::string_view key) {
    const json::object* answer = answer_at(request, key);
    const json::value* action = answer != nullptr ? answer->if_contains("action") : nullptr;
    if (action == nullptr || (*action != "accept" && *action != "decline" && *action != "cancel")) {
        return nullptr;
    }
    const json::value* content = answer->if_contains("content");
    return *action != "accept" || (content != nullptr && content->is_object()) ? answer : nullptr;
}

std::string in_words(const json::object& elicitation) {
    const json::value* content = elicitation.if_contains("content");
    return fmt::format("action={}, content={}",
                       std::string_view(elicitation.at("action").as_string()),
                       content != nullptr ? to_text(*content) : "{}");
}

// What a model said, if it said something.
std::optional<std::string> sampled(const ToolRequest& request, std::string_view key) {
    const json::object* answer = answer_at(request, key);
    const json::value* content = answer != nullptr ? answer->if_contains("content") : nullptr;
    const json::object* block = content != nullptr ? content->if_object() : nullptr;
    const json::value* text = block != nullptr ? block->if_contains("text") : nullptr;
    return text != nullptr && text->is_string() ? std::optional(std::string(text->get_string()))
                                                : std::nullopt;
}

FixtureAnswer ask_model(const ToolRequest& request) {
    if (const std::optional<std::string> text = sampled(request, "answer")) {
        return say(fmt::format("LLM response: {}", *text));
    }
    json::object question = parse_fixture(kAskCapital);
    question.at("params").at("messages").at(0).at("content").as_object()["text"] =
        text_argument(request, "prompt");
    return ask({{"answer", std::move(question)}});
}

FixtureAnswer ask_person(const ToolRequest& request) {
    if (const json::object* answer = elicited(request, "answer")) {
        return say(fmt::format("User response: {}", in_words(*answer)));
    }
    json::object question = parse_fixture(R"({
        "method": "elicitation/create",
        "params": {"message": "", "requestedSchema": {"type": "object",
            "properties": {
                "username": {"type": "string", "description": "User's response"},
                "email": {"type": "string", "description": "User's email address"}},
            "required": ["username", "email"]}}})");
    question.at("params").as_object()["message"] = text_argument(request, "message");
    return ask({{"answer", std::move(question)}});
}

FixtureTool::Handler ask_form(std::string_view form) {
    return at_once([form](const ToolRequest& request) {
        const json::object* answer = elicited(request, "answer");
        return answer != nullptr ? say(fmt::format("Elicitation completed: {}", in_words(*answer)))
                                 : ask_one("answer", form);
    });
}

FixtureAnswer ask_name(const ToolRequest& request) {
    const json::object* answer = elicited(request, "user_name");
    if (answer == nullptr) {
        return ask_one("user_name", kAskName);
    }
    if (answer->at("action") != "accept") {
        return say("Nobody wanted to be named.");
    }
    const json::value* name = answer->at("content").as_object().if_contains("name");
    return name != nullptr && name->is_string()
               ? say(fmt::format("Hello, {}!", std::string_view(name->get_string())))
               : ask_one("user_name", kAskName);
}

FixtureAnswer ask_capital(const ToolRequest& request) {
    const std::optional<std::string> text = sampled(request, "capital_question");
    return text ? say(fmt::format("The model says: {}", *text))
                : ask_one("capital_question", kAskCapital);
}

FixtureAnswer ask_roots(const ToolRequest& request) {
    const json::object* answer = answer_at(request, "client_roots");
    const json::value* roots = answer != nullptr ? answer->if_contains("roots") : nullptr;
    return roots != nullptr && roots->is_array()
               ? say(fmt::format("The client's roots: {}", to_text(*roots)))
               : ask_one("client_roots", kAskRoots);
}

FixtureAnswer ask_with_state(const ToolRequest& request) {
    const bool goes_on = request.asker.state == json::value("waits for confirm");
    return goes_on && elicited(request, "confirm") != nullptr
               ? say("state-ok: the state came back as it was given.")
               : ask_one("confirm", kAskConfirmation, "waits for confirm");
}

FixtureAnswer ask_everything(const ToolRequest& request) {
    if (!request.asker.state.is_null() && elicited(request, "user_name") != nullptr &&
        sampled(request, "greeting") && answer_at(request, "client_roots") != nullptr) {
        return say(fmt::format("Everything was answered: {}", *sampled(request, "greeting")));
    }
    return ask({{"user_name", parse_fixture(kAskName)},
                {"greeting", parse_fixture(kAskGreeting)},
                {"client_roots", parse_fixture(kAskRoots)}},
               "waits for everything");
}

FixtureAnswer ask_twice(const ToolRequest& request) {
    if (request.asker.state == json::value("second") && elicited(request, "step2") != nullptr) {
        return say("Both steps were answered.");
    }
    const bool second =
        request.asker.state == json::value("second") ||
        (request.asker.state == json::value("first") && elicited(request, "step1") != nullptr);
    return second ? ask_one("step2", kAskSecond, "second") : ask_one("step1", kAskFirst, "first");
}

// Only what the client says it can be asked.
FixtureAnswer ask_what_can_be(const ToolRequest& request) {
    if (!request.asker.inputs.empty()) {
        return say("The client was asked what it can be asked.");
    }
    json::object requests;
    for (const std::string_view text : {kAskName, kAskGreeting, kAskRoots}) {
        json::object question = parse_fixture(text);
        if (!missing_capability(request.asker.capabilities, question)) {
            requests[question.at("method").as_string()] = std::move(question);
        }
    }
    return requests.empty() ? say("The client cannot be asked anything.")
                            : ask(std::move(requests));
}

}  // namespace

std::vector<FixtureTool> asking_fixtures() {
    std::vector<FixtureTool> tools;
    const auto add = [&tools](std::string_view name, std::string_view description,
                              FixtureAnswer (*answer)(const ToolRequest&)) {
        tools.push_back({define_fixture(name, description), at_once(answer)});
    };
    tools.push_back({define_fixture("test_sampling", "Asks the client's model.", kPromptSchema),
                     at_once(ask_model)});
    tools.push_back({define_fixture("test_elicitation", "Asks the person.", kMessageSchema),
                     at_once(ask_person)});
    tools.push_back(
        {define_fixture("test_elicitation_sep1034_defaults", "Asks with values to start from."),
         ask_form(kDefaultsForm)});
    tools.push_back(
        {define_fixture("test_elicitation_sep1330_enums", "Asks with choices of every form."),
         ask_form(kChoicesForm)});
    add("test_missing_capability", "Needs a client with a model.", ask_capital);
    add("test_streaming_elicitation", "Asks while others would stream.", ask_name);
    add("test_input_required_result_elicitation", "Asks for a name.", ask_name);
    add("test_input_required_result_sampling", "Asks the client's model.", ask_capital);
    add("test_input_required_result_list_roots", "Asks for the client's roots.", ask_roots);
    add("test_input_required_result_request_state", "Asks, and keeps a state.", ask_with_state);
    add("test_input_required_result_multiple_inputs", "Asks three things.", ask_everything);
    add("test_input_required_result_multi_round", "Asks twice.", ask_twice);
    add("test_input_required_result_tampered_state", "Asks, with a signed state.", ask_with_state);
    add("test_input_required_result_capabilities", "Asks what can be asked.", ask_what_can_be);
    return tools;
}

}  // namespace belljar::mcp
