#include "mcp/prompt_methods.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "mcp/page.h"
#include "mcp/quote.h"

namespace belljar::mcp {
namespace {

using engine::CancellationPtr;

constexpr Caching kPromptList{std::chrono::minutes(5), Caching::Scope::Private};
constexpr std::size_t kMostValues = 100;

json::object encode_prompt(const PromptDefinition& prompt, Revision revision) {
    json::object object{{"name", prompt.name}, {"description", prompt.description}};
    if (revision >= Revision::V2025_06_18 && !prompt.title.empty()) {
        object["title"] = prompt.title;
    }
    json::array& arguments = object["arguments"].emplace_array();
    for (const PromptArgument& argument : prompt.arguments) {
        arguments.emplace_back(json::object{{"name", argument.name},
                                            {"description", argument.description},
                                            {"required", argument.required}});
    }
    return object;
}

json::object encode_outcome(const PromptOutcome& outcome, Revision revision) {
    json::object result{{"description", outcome.description}};
    json::array& messages = result["messages"].emplace_array();
    for (const PromptMessage& message : outcome.messages) {
        const std::string_view role =
            message.role == PromptMessage::Role::User ? "user" : "assistant";
        messages.emplace_back(
            json::object{{"role", role}, {"content", encode(message.content, revision)}});
    }
    return result;
}

// The member as a string.
RpcResult<std::string> read_text(const json::object& object, std::string_view member,
                                 std::string_view where) {
    const json::value* value = object.if_contains(member);
    const json::string* text = value != nullptr ? value->if_string() : nullptr;
    if (text == nullptr) {
        return rpc_fail(RpcCode::InvalidParams,
                        fmt::format("{}.{} must be a string.", where, member));
    }
    return std::string(*text);
}

RpcResult<std::map<std::string, std::string>> read_arguments(const json::value* given,
                                                             std::string_view where) {
    std::map<std::string, std::string> arguments;
    if (given == nullptr) {
        return arguments;
    }
    const json::object* object = given->if_object();
    if (object == nullptr) {
        return rpc_fail(RpcCode::InvalidParams, fmt::format("{} must be an object.", where));
    }
    for (const json::key_value_pair& argument : *object) {
        const json::string* text = argument.value().if_string();
        if (text == nullptr) {
            return rpc_fail(RpcCode::InvalidParams,
                            fmt::format("{} {} must be a string.", where, quote(argument.key())));
        }
        arguments.emplace(argument.key(), *text);
    }
    return arguments;
}

// What a prompt cannot do without.
std::optional<RpcError> find_missing(const Provider& provider, const PromptRequest& request) {
    for (const PromptDefinition& prompt : provider.prompts()) {
        for (const PromptArgument& argument : prompt.arguments) {
            if (prompt.name == request.name && argument.required &&
                !request.arguments.contains(argument.name)) {
                return RpcError{.code = RpcCode::InvalidParams,
                                .message = fmt::format("The prompt {} needs the argument {}.",
                                                       prompt.name, argument.name)};
            }
        }
    }
    return std::nullopt;
}

RpcResult<PromptRequest> read_request(const json::object& params) {
    PromptRequest request;
    RpcResult<std::string> name = read_text(params, "name", "params");
    if (!name) {
        return std::unexpected(std::move(name.error()));
    }
    request.name = std::move(*name);
    auto arguments = read_arguments(params.if_contains("arguments"), "params.arguments");
    if (!arguments) {
        return std::unexpected(std::move(arguments.error()));
    }
    request.arguments = std::move(*arguments);
    return request;
}

std::unexpected<RpcError> bad_completion() {
    return rpc_fail(RpcCode::InvalidParams,
                    "completion/complete needs params.ref, {\"type\": \"ref/prompt\", \"name\": "
                    "...} or {\"type\": \"ref/resource\", \"uri\": ...}, and params.argument, "
                    "{\"name\": ..., \"value\": ...}.");
}

RpcResult<CompletionRequest> read_completion(const json::object& params) {
    const json::value* ref = params.if_contains("ref");
    const json::value* argument = params.if_contains("argument");
    if (ref == nullptr || !ref->is_object() || argument == nullptr || !argument->is_object()) {
        return bad_completion();
    }
    const json::value* type = ref->get_object().if_contains("type");
    const bool prompt = type != nullptr && *type == "ref/prompt";
    if (!prompt && (type == nullptr || *type != "ref/resource")) {
        return bad_completion();
    }
    RpcResult<std::string> name = read_text(ref->get_object(), prompt ? "name" : "uri", "ref");
    RpcResult<std::string> of = read_text(argument->get_object(), "name", "argument");
    RpcResult<std::string> begun = read_text(argument->get_object(), "value", "argument");
    if (!name || !of || !begun) {
        return bad_completion();
    }
    const json::value* context = params.if_contains("context");
    const json::object* members = context != nullptr ? context->if_object() : nullptr;
    auto known = read_arguments(members != nullptr ? members->if_contains("arguments") : nullptr,
                                "params.context.arguments");
    if (!known) {
        return std::unexpected(std::move(known.error()));
    }
    return CompletionRequest{
        .of = prompt ? CompletionRequest::Of::Prompt : CompletionRequest::Of::Template,
        .name = std::move(*name),
        .argument = std::move(*of),
        .begun = std::move(*begun),
        .context = std::move(*known)};
}

}  // namespace

Task<RpcResult<std::string>> PromptMethods::list(Call call, CancellationPtr /*cancellation*/) {
    json::array prompts;
    for (const Provider* provider : providers_) {
        for (const PromptDefinition& prompt : provider->prompts()) {
            prompts.emplace_back(encode_prompt(prompt, call.revision));
        }
    }
    RpcResult<json::object> page = make_page("prompts", std::move(prompts), call.message.params);
    if (!page) {
        co_return std::unexpected(std::move(page.error()));
    }
    co_return to_text(complete(std::move(*page), call.revision, identity_, kPromptList));
}

Task<RpcResult<std::string>> PromptMethods::get(Call call, CancellationPtr cancellation) {
    RpcResult<PromptRequest> request = read_request(call.message.params);
    if (!request) {
        co_return std::unexpected(std::move(request.error()));
    }
    const auto found = std::ranges::find_if(providers_, [&request](const Provider* provider) {
        return provider->has_prompt(request->name);
    });
    if (found == providers_.end()) {
        co_return rpc_fail(RpcCode::InvalidParams,
                           fmt::format("There is no prompt {}.", quote(request->name)));
    }
    Provider* provider = *found;
    if (std::optional<RpcError> fault = find_missing(*provider, *request)) {
        co_return std::unexpected(std::move(*fault));
    }
    const Revision revision = call.revision;
    const Rounds::Handler<PromptOutcome> handler = [provider, wanted = *request,
                                                    cancellation](Asker asker) {
        PromptRequest asked = wanted;
        asked.asker = std::move(asker);
        return provider->get_prompt(std::move(asked), cancellation);
    };
    Rounds::Ended<PromptOutcome> ended =
        co_await rounds_.run<PromptOutcome>(std::move(call), handler, cancellation);
    if (!ended) {
        co_return std::unexpected(std::move(ended.error()));
    }
    if (json::object* needed = std::get_if<json::object>(&*ended)) {
        co_return to_text(complete(std::move(*needed), revision, identity_));
    }
    co_return to_text(
        complete(encode_outcome(std::get<PromptOutcome>(*ended), revision), revision, identity_));
}

Task<RpcResult<std::string>> PromptMethods::complete_argument(Call call,
                                                              CancellationPtr /*cancellation*/) {
    RpcResult<CompletionRequest> request = read_completion(call.message.params);
    if (!request) {
        co_return std::unexpected(std::move(request.error()));
    }
    request->asker = {.principal = call.principal, .rights = call.rights};
    std::optional<Completion> completion;
    for (auto provider = providers_.begin(); provider != providers_.end() && !completion;
         ++provider) {
        completion = co_await (*provider)->complete(*request);
    }
    if (!completion) {
        co_return rpc_fail(RpcCode::InvalidParams,
                           fmt::format("Nothing here is called {}.", quote(request->name)));
    }
    json::array values;
    for (const std::string& value : completion->values) {
        if (values.size() == kMostValues) {
            break;
        }
        values.emplace_back(make_valid_utf8(value));
    }
    json::object result;
    result["completion"] = json::object{{"values", std::move(values)},
                                        {"total", completion->values.size()},
                                        {"hasMore", completion->values.size() > kMostValues}};
    co_return to_text(complete(std::move(result), call.revision, identity_));
}

}  // namespace belljar::mcp
