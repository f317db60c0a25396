#include "mcp/prompt_provider.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "execution/error_wire.h"
#include "mcp/file_completion.h"
#include "mcp/quote.h"
#include "mcp/resource_range.h"

namespace belljar::mcp {
namespace {

using Arguments = std::map<std::string, std::string>;

constexpr std::string_view kAnalyseFile = "analyse_file";
constexpr std::string_view kExplainDenial = "explain_denial";
constexpr std::string_view kWriteTool = "write_tool";
// Of one argument; who has more to say puts it in a file.
constexpr std::size_t kLongestArgument = 8192;

std::string argument_of(const Arguments& arguments, const std::string& name) {
    const auto found = arguments.find(name);
    return found != arguments.end() ? make_valid_utf8(found->second) : "";
}

PromptMessage user_says(Content content) {
    return {.role = PromptMessage::Role::User, .content = std::move(content)};
}

std::string analysis_task(const execution::FileView& file, const Arguments& arguments) {
    const std::string question = argument_of(arguments, "question");
    return fmt::format(
        "Analyse the file {} ({}, {} bytes) of the conversation {}.\n{}\n"
        "Work on it with execute_code and conversation_id {}: the file is /workspace/{} there. "
        "First look at its form with a few lines of code: encoding, columns or structure, number "
        "of records, missing values. Do not print all of it. Then compute what the answer needs, "
        "show a figure where it says more than words, and end with the findings, the numbers "
        "behind them, and what the data cannot tell.",
        quote(file.path), file.mime, file.size, quote(argument_of(arguments, "conversation_id")),
        question.empty() ? "Find out what it contains and what is remarkable about it."
                         : fmt::format("The question is: {}", question),
        quote(argument_of(arguments, "conversation_id")), file.path);
}

RpcResult<Round<PromptOutcome>> explain_denial(const Arguments& arguments) {
    const std::string language = argument_of(arguments, "language");
    const std::string denial = argument_of(arguments, "denial");
    const std::string status = argument_of(arguments, "status");
    if (denial.empty() && status.empty()) {
        return rpc_fail(RpcCode::InvalidParams,
                        "explain_denial needs the argument denial or the argument status.");
    }
    return PromptOutcome{
        .description = "Why the sandbox refused something, and what to do instead",
        .messages = {user_says(fmt::format(
            "A {}program that ran in the Belljar sandbox was stopped or refused something. "
            "This is what the result said:\n\n{}\n\n"
            "Explain in two or three sentences what the program tried, which rule stood "
            "against it and why such a rule exists. Then give the smallest change to the "
            "program or to the arguments of execute_code that reaches the same goal within "
            "the rules, and run it to show that it works. The limits are in the resource "
            "belljar://policy; larger ones than its maximum cannot be had, and there is no "
            "network. If the goal cannot be reached here, say so plainly and name what the "
            "user could do outside.",
            language.empty() ? "" : language + " ",
            status.empty() ? denial : fmt::format("status: {}\n{}", status, denial)))}};
}

PromptOutcome write_tool(const Arguments& arguments) {
    const std::string name = argument_of(arguments, "name");
    return {.description = "A small tested tool that runs in the sandbox",
            .messages = {user_says(fmt::format(
                "Write a Python tool{} for this purpose: {}\n\n"
                "It is one module of functions that take and return plain values that can be "
                "written as JSON, with type hints and a docstring each that says what comes in, "
                "what comes back and what is raised. It uses the standard library and what the "
                "sandbox has, no network, and reads and writes below /workspace only. Input is "
                "checked, and errors say what was wrong.\n\n"
                "Work in steps with execute_code: write the module to a file, write tests for the "
                "ordinary case, for empty input and for wrong input, run them, and correct the "
                "module until they pass. Give the finished module, one example of its use, and "
                "the output of the tests.",
                name.empty() ? "" : " called " + quote(name), argument_of(arguments, "purpose")))}};
}

std::vector<PromptDefinition> all_prompts() {
    return {
        {.name = std::string(kAnalyseFile),
         .title = "Analyse a file",
         .description = "Look into a file of a conversation with code and report what is in it.",
         .arguments = {{.name = "conversation_id",
                        .description = "The conversation that has the file.",
                        .required = true},
                       {.name = "path",
                        .description = "The file, relative to /workspace.",
                        .required = true},
                       {.name = "question", .description = "What is to be found out."}}},
        {.name = std::string(kExplainDenial),
         .title = "Explain a denial",
         .description = "Say why the sandbox refused something and how to reach the goal anyway.",
         .arguments = {{.name = "denial",
                        .description = "What was denied, or the whole text of the result."},
                       {.name = "status",
                        .description = "The status of the result, if there is nothing else."},
                       {.name = "language", .description = "Of the program."}}},
        {.name = std::string(kWriteTool),
         .title = "Write a tool",
         .description = "Write a small Python module for a purpose, and test it in the sandbox.",
         .arguments = {
             {.name = "purpose", .description = "What the tool is to do.", .required = true},
             {.name = "name", .description = "Of the module."}}}};
}

std::optional<RpcError> find_fault(const Arguments& arguments) {
    for (const auto& [name, value] : arguments) {
        if (value.size() > kLongestArgument) {
            return RpcError{.code = RpcCode::InvalidParams,
                            .message = fmt::format("The argument {} has more than {} bytes.",
                                                   quote(name), kLongestArgument)};
        }
    }
    return std::nullopt;
}

}  // namespace

std::vector<PromptDefinition> PromptProvider::prompts() const { return all_prompts(); }

bool PromptProvider::has_prompt(std::string_view name) const {
    return name == kAnalyseFile || name == kExplainDenial || name == kWriteTool;
}

Task<RpcResult<Round<PromptOutcome>>> PromptProvider::get_prompt(
    PromptRequest request, engine::CancellationPtr /*cancellation*/) {
    if (std::optional<RpcError> fault = find_fault(request.arguments)) {
        co_return std::unexpected(std::move(*fault));
    }
    if (request.name == kExplainDenial) {
        co_return explain_denial(request.arguments);
    }
    if (request.name == kWriteTool) {
        co_return write_tool(request.arguments);
    }
    RpcResult<Round<PromptOutcome>> outcome = co_await analyse_file(std::move(request));
    co_return outcome;
}

Task<RpcResult<Round<PromptOutcome>>> PromptProvider::analyse_file(PromptRequest request) {
    if (!request.asker.rights.has(access::Right::FilesRead)) {
        co_return std::unexpected(files_right_lacking());
    }
    execution::FileName name{.principal = request.asker.principal,
                             .conversation_id = request.arguments["conversation_id"],
                             .path = request.arguments["path"]};
    const std::string uri = engine::file_uri(name.conversation_id, name.path);
    Result<execution::FilePart> part =
        co_await executor_.conversations().read_file(std::move(name), {.length = kMostEmbedded});
    if (!part) {
        co_return rpc_fail(
            RpcCode::InvalidParams,
            fmt::format("The file cannot be read: {}", execution::client_message(part.error())));
    }
    const execution::FileView& file = part->file;
    PromptOutcome outcome{.description = fmt::format("Analyse {}", quote(file.path)),
                          .messages = {user_says(analysis_task(file, request.arguments))}};
    const bool whole = part->content.size() == file.size;
    if (whole && is_text_type(file.mime) && is_valid_utf8(part->content)) {
        outcome.messages.push_back(user_says(
            EmbeddedResource{.uri = uri, .mime = file.mime, .data = std::move(part->content)}));
    } else {
        outcome.messages.push_back(user_says(
            ResourceLink{.uri = uri, .name = file.path, .mime = file.mime, .size = file.size}));
    }
    co_return outcome;
}

Task<std::optional<Completion>> PromptProvider::complete(CompletionRequest request) {
    if (request.of != CompletionRequest::Of::Prompt || !has_prompt(request.name)) {
        co_return std::nullopt;
    }
    engine::Conversations* conversations = &executor_.conversations();
    if (request.name == kAnalyseFile && request.argument == "conversation_id") {
        Completion completion = co_await complete_conversation(
            conversations, std::move(request.asker), std::move(request.begun));
        co_return completion;
    }
    if (request.name == kAnalyseFile && request.argument == "path") {
        PathBegun begun{.conversation_id = request.context["conversation_id"],
                        .path = std::move(request.begun)};
        Completion completion =
            co_await complete_path(conversations, std::move(request.asker), std::move(begun));
        co_return completion;
    }
    if (request.name == kExplainDenial && request.argument == "status") {
        co_return complete_from(
            {"error", "timeout", "memory", "processes", "disk", "output", "killed", "denied"},
            request.begun);
    }
    if (request.name == kExplainDenial && request.argument == "language") {
        std::vector<std::string> languages;
        const engine::SandboxInfo info = executor_.info();
        for (const engine::SandboxInfo::Runner& runner : info.runners) {
            languages.push_back(runner.language);
        }
        co_return complete_from(languages, request.begun);
    }
    co_return Completion{};
}

}  // namespace belljar::mcp
