#include "mcp/dispatcher.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "mcp/quote.h"
#include "mcp/rounds.h"
#include "mcp/shipped_resources.h"

namespace belljar::mcp {

using engine::CancellationPtr;

Dispatcher::Dispatcher(Identity identity, Providers providers, Changes& changes, Tasks& tasks,
                       const Log& log)
    : identity_(std::move(identity)),
      providers_(std::move(providers)),
      log_(log),
      tools_(identity_, providers_, rounds_, tasks),
      resources_(identity_, providers_, rounds_),
      prompts_(identity_, providers_, rounds_),
      skills_(identity_, providers_),
      tasks_(identity_, tasks),
      listen_(identity_, providers_, changes, tasks) {
    add_methods();
}

void Dispatcher::add_methods() {
    const auto add = [this](std::string_view name, std::optional<Era> era, auto* object,
                            auto method) {
        methods_[name] = {era, [object, method](Call call, CancellationPtr cancellation) {
                              return (object->*method)(std::move(call), std::move(cancellation));
                          }};
    };
    constexpr std::optional<Era> kBoth;
    add("server/discover", Era::Modern, this, &Dispatcher::discover);
    add("initialize", Era::Legacy, this, &Dispatcher::initialize);
    add("ping", Era::Legacy, this, &Dispatcher::ping);
    add("logging/setLevel", Era::Legacy, this, &Dispatcher::set_log_level);
    methods_["tools/list"] = {.kept = [this](const Call& call) { return tools_.list(call); }};
    add("tools/call", kBoth, &tools_, &ToolMethods::call);
    add("resources/list", kBoth, &resources_, &ResourceMethods::list);
    add("resources/templates/list", kBoth, &resources_, &ResourceMethods::list_templates);
    add("resources/read", kBoth, &resources_, &ResourceMethods::read);
    add("resources/subscribe", Era::Legacy, &resources_, &ResourceMethods::subscribe);
    add("resources/unsubscribe", Era::Legacy, &resources_, &ResourceMethods::unsubscribe);
    add("prompts/list", kBoth, &prompts_, &PromptMethods::list);
    add("prompts/get", kBoth, &prompts_, &PromptMethods::get);
    add("completion/complete", kBoth, &prompts_, &PromptMethods::complete_argument);
    add("skills/list", Era::Modern, &skills_, &SkillMethods::list);
    add("skills/get", Era::Modern, &skills_, &SkillMethods::get);
    add("resources/directory/read", Era::Modern, &skills_, &SkillMethods::read_directory);
    add("tasks/get", Era::Modern, &tasks_, &TaskMethods::get);
    add("tasks/update", Era::Modern, &tasks_, &TaskMethods::update);
    add("tasks/cancel", Era::Modern, &tasks_, &TaskMethods::cancel);
    add("subscriptions/listen", Era::Modern, &listen_, &ListenMethod::listen);
}

const Dispatcher::Entry* Dispatcher::find(std::string_view name, Era era) const {
    const auto found = methods_.find(name);
    return found != methods_.end() && found->second.era.value_or(era) == era ? &found->second
                                                                             : nullptr;
}

namespace {

RpcError unknown_method(const Call& call) {
    return {.code = RpcCode::MethodNotFound,
            .message = fmt::format("There is no method {} in revision {}.",
                                   quote(call.message.method), name_of(call.revision))};
}

// What revisions say in different words.
RpcError in_words_of(Era era, RpcError error) {
    if (era == Era::Modern && error.code == RpcCode::ResourceNotFound) {
        error.code = RpcCode::InvalidParams;
    }
    return error;
}

Reply refusal_of(const json::value& id, RpcError error) {
    const RpcCode code = error.code;
    return {.begin = error_message(id, std::move(error)), .error = code};
}

}  // namespace

std::string text_of(Reply reply) {
    if (reply.rest) {
        reply.begin += *reply.rest;
    }
    return std::move(reply.begin);
}

Task<Reply> Dispatcher::answer(Call call, CancellationPtr cancellation) {
    const json::value id = call.message.id;
    try {
        Reply reply = co_await carry_out(std::move(call), std::move(cancellation));
        co_return reply;
    } catch (const std::exception& error) {
        log_.error("a request could not be answered", {{"reason", error.what()}});
    } catch (...) {
        log_.error("a request could not be answered");
    }
    co_return refusal_of(id, own_fault());
}

Task<Reply> Dispatcher::carry_out(Call call, CancellationPtr cancellation) {
    const json::value id = call.message.id;
    const Era era = era_of(call.revision);
    const Entry* entry = find(call.message.method, era);
    if (entry == nullptr) {
        co_return refusal_of(id, unknown_method(call));
    }
    if (entry->kept) {
        RpcResult<std::shared_ptr<const std::string>> rest = entry->kept(call);
        co_return rest ? Reply{.begin = begin_result_message(id), .rest = std::move(*rest)}
                       : refusal_of(id, in_words_of(era, std::move(rest.error())));
    }
    RpcResult<std::string> result =
        co_await entry->method(std::move(call), std::move(cancellation));
    co_return result ? Reply{.begin = result_message(id, *result)}
                     : refusal_of(id, in_words_of(era, std::move(result.error())));
}

Offers Dispatcher::offers() const {
    return {.list_changes = std::ranges::any_of(
                providers_, [](const Provider* provider) { return provider->changes_lists(); }),
            .extensions = {{kTasksExtension, json::object{}},
                           {kAppsExtension, json::object{}},
                           {kSkillsExtension, json::object{{"directoryRead", true}}}}};
}

Task<RpcResult<std::string>> Dispatcher::discover(Call call, CancellationPtr /*cancellation*/) {
    co_return to_text(encode(Discovery{.offers = offers()}, call.revision, identity_));
}

Task<RpcResult<std::string>> Dispatcher::initialize(Call call, CancellationPtr /*cancellation*/) {
    const json::value* version = call.message.params.if_contains("protocolVersion");
    if (version == nullptr || !version->is_string()) {
        co_return rpc_fail(RpcCode::InvalidParams,
                           fmt::format("initialize needs params.protocolVersion as a string, for "
                                       "example \"{}\".",
                                       name_of(kNewestLegacyRevision)));
    }
    const json::value* declared = call.message.params.if_contains("capabilities");
    if (call.memory != nullptr && declared != nullptr && declared->is_object()) {
        call.memory->capabilities = declared->get_object();
    }
    const json::value* info = call.message.params.if_contains("clientInfo");
    if (call.memory != nullptr && info != nullptr && info->is_object()) {
        call.memory->client = client_name(info->get_object());
    }
    const Handshake handshake{.revision = negotiate(version->get_string()), .offers = offers()};
    co_return to_text(encode(handshake, call.revision, identity_));
}

Task<RpcResult<std::string>> Dispatcher::ping(Call call, CancellationPtr /*cancellation*/) {
    co_return to_text(complete({}, call.revision, identity_));
}

// Only a connection that lasts can remember the level.
Task<RpcResult<std::string>> Dispatcher::set_log_level(Call call,
                                                       CancellationPtr /*cancellation*/) {
    const json::value* level = call.message.params.if_contains("level");
    const json::string* name = level != nullptr ? level->if_string() : nullptr;
    const std::optional<Severity> severity = name != nullptr ? parse_severity(*name) : std::nullopt;
    if (!severity) {
        co_return rpc_fail(RpcCode::InvalidParams,
                           fmt::format("logging/setLevel needs params.level, one of {}.",
                                       fmt::join(kSeverityNames, ", ")));
    }
    if (call.memory == nullptr) {
        co_return rpc_fail(RpcCode::InvalidRequest,
                           "A log level is kept for a session: begin with initialize.");
    }
    call.memory->log_level = severity;
    co_return to_text(complete({}, call.revision, identity_));
}

}  // namespace belljar::mcp
