#include "mcp/dispatcher.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "mcp/quote.h"

namespace belljar::mcp {

using engine::CancellationPtr;

Dispatcher::Dispatcher(engine::Executor& executor, Identity identity, std::vector<Dialect> dialects)
    : executor_(executor),
      identity_(std::move(identity)),
      toolbox_(executor, std::move(dialects)) {}

const Dispatcher::Entry* Dispatcher::find(std::string_view name, Era era) {
    static constexpr std::array<Entry, 6> kMethods{
        {{"server/discover", Era::Modern, &Dispatcher::discover},
         {"initialize", Era::Legacy, &Dispatcher::initialize},
         {"ping", Era::Legacy, &Dispatcher::ping},
         {"logging/setLevel", Era::Legacy, &Dispatcher::set_log_level},
         {"tools/list", std::nullopt, &Dispatcher::list_tools},
         {"tools/call", std::nullopt, &Dispatcher::call_tool}}};
    for (const Entry& entry : kMethods) {
        if (entry.name == name && entry.era.value_or(era) == era) {
            return &entry;
        }
    }
    return nullptr;
}

Task<Reply> Dispatcher::answer(Call call, CancellationPtr cancellation) {
    const json::value id = call.message.id;
    RpcResult<std::string> result = co_await run(std::move(call), std::move(cancellation));
    if (!result) {
        const RpcCode code = result.error().code;
        co_return Reply{.text = error_message(id, std::move(result.error())), .error = code};
    }
    co_return Reply{.text = result_message(id, *result)};
}

namespace {

RpcError unknown_method(const Call& call) {
    return {.code = RpcCode::MethodNotFound,
            .message = fmt::format("There is no method {} in revision {}.",
                                   quote(call.message.method), name_of(call.revision))};
}

}  // namespace

Task<RpcResult<std::string>> Dispatcher::run(Call call, CancellationPtr cancellation) {
    const Entry* entry = find(call.message.method, era_of(call.revision));
    if (entry == nullptr) {
        co_return std::unexpected(unknown_method(call));
    }
    RpcResult<std::string> result =
        co_await (this->*entry->method)(std::move(call), std::move(cancellation));
    co_return result;
}

std::string Dispatcher::encoded(const Answer& answer, Revision revision) const {
    return to_text(encode(answer, revision, identity_));
}

Task<RpcResult<std::string>> Dispatcher::discover(Call call, CancellationPtr /*cancellation*/) {
    co_return encoded(Discovery{}, call.revision);
}

Task<RpcResult<std::string>> Dispatcher::initialize(Call call, CancellationPtr /*cancellation*/) {
    const json::value* version = call.message.params.if_contains("protocolVersion");
    if (version == nullptr || !version->is_string()) {
        co_return rpc_fail(RpcCode::InvalidParams,
                           fmt::format("initialize needs params.protocolVersion as a string, for "
                                       "example \"{}\".",
                                       name_of(kNewestLegacyRevision)));
    }
    co_return encoded(
        Handshake{.revision = negotiate(version->get_string()), .logging = call.memory != nullptr},
        call.revision);
}

Task<RpcResult<std::string>> Dispatcher::ping(Call call, CancellationPtr /*cancellation*/) {
    co_return encoded(Acknowledgement{}, call.revision);
}

// Only a connection that lasts can remember the level; elsewhere there is no such capability.
Task<RpcResult<std::string>> Dispatcher::set_log_level(Call call,
                                                       CancellationPtr /*cancellation*/) {
    if (call.memory == nullptr) {
        co_return std::unexpected(unknown_method(call));
    }
    const json::value* level = call.message.params.if_contains("level");
    const json::string* name = level != nullptr ? level->if_string() : nullptr;
    const std::optional<Severity> severity = name != nullptr ? parse_severity(*name) : std::nullopt;
    if (!severity) {
        co_return rpc_fail(RpcCode::InvalidParams,
                           fmt::format("logging/setLevel needs params.level, one of {}.",
                                       fmt::join(kSeverityNames, ", ")));
    }
    call.memory->log_level = severity;
    co_return encoded(Acknowledgement{}, call.revision);
}

Task<RpcResult<std::string>> Dispatcher::list_tools(Call call, CancellationPtr /*cancellation*/) {
    if (call.message.params.contains("cursor")) {
        co_return rpc_fail(RpcCode::InvalidParams,
                           "tools/list gives all tools at once, so no cursor is valid; leave "
                           "params.cursor out.");
    }
    engine::SandboxInfo sandbox = executor_.info();
    if (sandbox != listed_) {
        tool_lists_.clear();
        listed_ = std::move(sandbox);
    }
    std::string& list = tool_lists_[call.revision];
    if (list.empty()) {
        list = encoded(toolbox_.list(), call.revision);
    }
    co_return list;
}

Task<RpcResult<std::string>> Dispatcher::call_tool(Call call, CancellationPtr cancellation) {
    const json::value* name = call.message.params.if_contains("name");
    if (name == nullptr || !name->is_string()) {
        co_return rpc_fail(RpcCode::InvalidParams,
                           "tools/call needs params.name, the name of the tool, as a string.");
    }
    json::object arguments;
    json::value* given = call.message.params.if_contains("arguments");
    if (given != nullptr && given->is_object()) {
        arguments = std::move(given->get_object());
    } else if (given != nullptr && !given->is_null()) {
        co_return rpc_fail(
            RpcCode::InvalidParams,
            fmt::format("params.arguments must be an object, not {}.", describe_kind(*given)));
    }
    RpcResult<NoticeWishes> wishes = read_wishes(call.message.params, call.revision, call.memory);
    if (!wishes) {
        co_return std::unexpected(std::move(wishes.error()));
    }
    ToolCall tool{.name = std::string(name->get_string()),
                  .arguments = std::move(arguments),
                  .principal = std::move(call.principal),
                  .wishes = std::move(*wishes),
                  .notify = std::move(call.notify)};
    RpcResult<Answer> answer = co_await toolbox_.call(std::move(tool), std::move(cancellation));
    if (!answer) {
        co_return std::unexpected(std::move(answer.error()));
    }
    co_return encoded(*answer, call.revision);
}

}  // namespace belljar::mcp
