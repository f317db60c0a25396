#include "mcp/fixture_provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "crypto/digest.h"

namespace belljar::mcp {
namespace {

constexpr std::string_view kStaticText = "test://static-text";
constexpr std::string_view kStaticBinary = "test://static-binary";
constexpr std::string_view kWatched = "test://watched-resource";
constexpr std::string_view kTemplateBegin = "test://template/";
constexpr std::string_view kTemplateEnd = "/data";
constexpr std::string_view kSkill = "skill://protocol-fixture/";
constexpr std::string_view kSkillName = "protocol-fixture";
constexpr std::string_view kSkillDescription = "A skill for tests of the protocol.";

struct SkillFile {
    std::string_view name{};
    std::string_view text{};
};

constexpr std::array kSkillFiles{
    SkillFile{
        "SKILL.md",
        "---\nname: protocol-fixture\ndescription: A skill for tests of the protocol.\n---\n\n"
        "# Nothing to do\n\nSee references/notes.md.\n"},
    SkillFile{"references/notes.md", "# Notes\n\nThere are none.\n"}};

PromptMessage from_user(Content content) { return {.content = std::move(content)}; }

PromptArgument required(std::string_view name, std::string_view description) {
    return {.name = std::string(name), .description = std::string(description), .required = true};
}

// What stands for {id} in the URI; empty if it is none of the template.
std::string_view template_id(std::string_view uri) {
    if (!uri.starts_with(kTemplateBegin) || !uri.ends_with(kTemplateEnd) ||
        uri.size() <= kTemplateBegin.size() + kTemplateEnd.size()) {
        return {};
    }
    uri.remove_prefix(kTemplateBegin.size());
    uri.remove_suffix(kTemplateEnd.size());
    return uri.find('/') == std::string_view::npos ? uri : std::string_view{};
}

std::optional<ResourcePart> find_part(const std::string& uri) {
    if (uri == kStaticText) {
        return ResourcePart{.uri = uri,
                            .mime = "text/plain",
                            .bytes = "This is the content of the static text resource."};
    }
    if (uri == kStaticBinary) {
        return ResourcePart{.uri = uri,
                            .mime = "image/png",
                            .bytes = fixture_png(),
                            .form = ResourcePart::Form::Blob};
    }
    if (uri == kWatched) {
        return ResourcePart{.uri = uri, .mime = "text/plain", .bytes = "This may change."};
    }
    if (const std::string_view id = template_id(uri); !id.empty()) {
        return ResourcePart{
            .uri = uri,
            .mime = "application/json",
            .bytes = to_text(json::object{
                {"id", id}, {"templateTest", true}, {"data", fmt::format("Data for ID: {}", id)}})};
    }
    for (const SkillFile& file : kSkillFiles) {
        if (uri == fmt::format("{}{}", kSkill, file.name)) {
            return ResourcePart{
                .uri = uri, .mime = "text/markdown", .bytes = std::string(file.text)};
        }
    }
    return std::nullopt;
}

Round<PromptOutcome> ask_context(const PromptRequest& request) {
    if (const json::value* answer = request.asker.inputs.if_contains("user_context")) {
        return PromptOutcome{
            .messages = {from_user(fmt::format("Use this context: {}", to_text(*answer)))}};
    }
    return InputNeeded{.requests = {{"user_context", parse_fixture(R"({
        "method": "elicitation/create",
        "params": {"message": "What context should the prompt use?",
            "requestedSchema": {"type": "object",
                "properties": {"context": {"type": "string"}}, "required": ["context"]}}})")}}};
}

std::vector<PromptMessage> messages_of(const PromptRequest& request) {
    if (request.name == "test_prompt_with_arguments") {
        return {from_user(fmt::format("Prompt with arguments: arg1='{}', arg2='{}'",
                                      request.arguments.at("arg1"), request.arguments.at("arg2")))};
    }
    if (request.name == "test_prompt_with_embedded_resource") {
        return {from_user(EmbeddedResource{.uri = request.arguments.at("resourceUri"),
                                           .mime = "text/plain",
                                           .data = "Embedded resource content for testing."}),
                from_user("Please process the embedded resource above.")};
    }
    if (request.name == "test_prompt_with_image") {
        return {from_user(Picture{.mime = "image/png", .data = fixture_png()}),
                from_user("Please analyze the image above.")};
    }
    return {from_user("This is a simple prompt for testing.")};
}

}  // namespace

FixtureProvider::FixtureProvider(Changes& changes) : tools_(plain_fixtures(changes)) {
    for (std::vector<FixtureTool>& more : std::array{asking_fixtures(), task_fixtures()}) {
        std::ranges::move(more, std::back_inserter(tools_));
    }
}

std::vector<ToolDefinition> FixtureProvider::tools() const {
    std::vector<ToolDefinition> definitions;
    for (const FixtureTool& tool : tools_) {
        definitions.push_back(tool.definition);
    }
    return definitions;
}

bool FixtureProvider::has_tool(std::string_view name) const {
    return std::ranges::any_of(
        tools_, [name](const FixtureTool& tool) { return tool.definition.name == name; });
}

Task<RpcResult<Round<ToolOutcome>>> FixtureProvider::call_tool(
    ToolRequest request, engine::CancellationPtr cancellation) {
    const auto tool = std::ranges::find_if(tools_, [&request](const FixtureTool& candidate) {
        return candidate.definition.name == request.name;
    });
    RpcResult<Round<ToolOutcome>> answer =
        co_await tool->handler(std::move(request), std::move(cancellation));
    co_return answer;
}

Task<std::vector<ResourceDefinition>> FixtureProvider::resources(Asker /*asker*/) {
    const auto describe = [](std::string_view uri, std::string_view name, std::string_view mime) {
        return ResourceDefinition{.uri = std::string(uri),
                                  .name = std::string(name),
                                  .description = "A resource for tests of the protocol.",
                                  .mime = std::string(mime)};
    };
    co_return std::vector{describe(kStaticText, "static text", "text/plain"),
                          describe(kStaticBinary, "static binary", "image/png"),
                          describe(kWatched, "watched resource", "text/plain"),
                          ResourceDefinition{.uri = fmt::format("{}SKILL.md", kSkill),
                                             .name = std::string(kSkillName),
                                             .description = std::string(kSkillDescription),
                                             .mime = "text/markdown"}};
}

std::vector<ResourceTemplate> FixtureProvider::templates() const {
    return {{.uri_template = fmt::format("{}{{id}}{}", kTemplateBegin, kTemplateEnd),
             .name = "template",
             .description = "Resources for tests of the protocol.",
             .mime = "application/json"}};
}

bool FixtureProvider::owns_resource(std::string_view uri) const {
    return uri.starts_with("test://") || uri.starts_with(kSkill);
}

Task<RpcResult<Round<ResourceContents>>> FixtureProvider::read_resource(
    ResourceRequest request, engine::CancellationPtr /*cancellation*/) {
    std::optional<ResourcePart> part = find_part(request.uri);
    if (!part) {
        co_return std::unexpected(resource_not_found(request.uri));
    }
    co_return ResourceContents{.parts = {std::move(*part)}};
}

std::vector<PromptDefinition> FixtureProvider::prompts() const {
    return {{.name = "test_simple_prompt", .description = "A prompt without arguments."},
            {.name = "test_prompt_with_arguments",
             .description = "A prompt with two arguments.",
             .arguments = {required("arg1", "The first"), required("arg2", "The second")}},
            {.name = "test_prompt_with_embedded_resource",
             .description = "A prompt with a resource.",
             .arguments = {required("resourceUri", "What the resource is called")}},
            {.name = "test_prompt_with_image", .description = "A prompt with a picture."},
            {.name = "test_input_required_result_prompt",
             .description = "A prompt that asks for something first."}};
}

bool FixtureProvider::has_prompt(std::string_view name) const {
    return std::ranges::any_of(
        prompts(), [name](const PromptDefinition& prompt) { return prompt.name == name; });
}

Task<RpcResult<Round<PromptOutcome>>> FixtureProvider::get_prompt(
    PromptRequest request, engine::CancellationPtr /*cancellation*/) {
    if (request.name == "test_input_required_result_prompt") {
        co_return ask_context(request);
    }
    co_return PromptOutcome{.messages = messages_of(request)};
}

Task<std::optional<Completion>> FixtureProvider::complete(CompletionRequest request) {
    const bool mine = request.of == CompletionRequest::Of::Prompt
                          ? has_prompt(request.name)
                          : request.name.starts_with(kTemplateBegin);
    if (!mine) {
        co_return std::nullopt;
    }
    Completion completion;
    for (const std::string_view value : {"paris", "park", "party"}) {
        if (value.starts_with(request.begun)) {
            completion.values.emplace_back(value);
        }
    }
    co_return completion;
}

std::vector<Skill> FixtureProvider::skills() const {
    Skill skill{.uri = fmt::format("{}SKILL.md", kSkill),
                .frontmatter = {{"name", kSkillName}, {"description", kSkillDescription}}};
    for (const SkillFile& file : kSkillFiles) {
        skill.resources.emplace_back(
            json::object{{"uri", fmt::format("{}{}", kSkill, file.name)},
                         {"digest", fmt::format("sha256:{}", crypto::sha256_hex(file.text))},
                         {"size", file.text.size()}});
    }
    return {skill};
}

}  // namespace belljar::mcp
