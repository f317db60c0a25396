#include "mcp/dispatcher.h"

#include <fmt/format.h>

#include <array>

#include "mcp/quote.h"

namespace belljar::mcp {

using engine::CancellationPtr;

Dispatcher::Dispatcher(engine::Executor& executor, Identity identity)
    : identity_(std::move(identity)), toolbox_(executor) {}

const Dispatcher::Entry* Dispatcher::find(std::string_view name, Era era) {
    static constexpr std::array<Entry, 5> kMethods{
        {{"server/discover", Era::Modern, &Dispatcher::discover},
         {"initialize", Era::Legacy, &Dispatcher::initialize},
         {"ping", Era::Legacy, &Dispatcher::ping},
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
    const Revision revision = call.revision;
    json::value id = call.message.id;
    RpcResult<Answer> answer = co_await run(std::move(call), std::move(cancellation));
    if (!answer) {
        const RpcCode code = answer.error().code;
        co_return Reply{.message = error_message(std::move(id), std::move(answer.error())),
                        .error = code};
    }
    co_return Reply{.message = result_message(std::move(id), encode(*answer, revision, identity_))};
}

Task<RpcResult<Answer>> Dispatcher::run(Call call, CancellationPtr cancellation) {
    const Entry* entry = find(call.message.method, era_of(call.revision));
    if (entry == nullptr) {
        co_return rpc_fail(RpcCode::MethodNotFound,
                           fmt::format("There is no method {} in revision {}.",
                                       quote(call.message.method), name_of(call.revision)));
    }
    RpcResult<Answer> answer =
        co_await (this->*entry->method)(std::move(call), std::move(cancellation));
    co_return answer;
}

Task<RpcResult<Answer>> Dispatcher::discover(Call /*call*/, CancellationPtr /*cancellation*/) {
    co_return Discovery{};
}

Task<RpcResult<Answer>> Dispatcher::initialize(Call call, CancellationPtr /*cancellation*/) {
    const json::value* version = call.message.params.if_contains("protocolVersion");
    if (version == nullptr || !version->is_string()) {
        co_return rpc_fail(RpcCode::InvalidParams,
                           fmt::format("initialize needs params.protocolVersion as a string, for "
                                       "example \"{}\".",
                                       name_of(kNewestLegacyRevision)));
    }
    co_return Handshake{.revision = negotiate(version->get_string())};
}

Task<RpcResult<Answer>> Dispatcher::ping(Call /*call*/, CancellationPtr /*cancellation*/) {
    co_return Acknowledgement{};
}

Task<RpcResult<Answer>> Dispatcher::list_tools(Call call, CancellationPtr /*cancellation*/) {
    if (call.message.params.contains("cursor")) {
        co_return rpc_fail(RpcCode::InvalidParams,
                           "tools/list gives all tools at once, so no cursor is valid; leave "
                           "params.cursor out.");
    }
    co_return toolbox_.list();
}

Task<RpcResult<Answer>> Dispatcher::call_tool(Call call, CancellationPtr cancellation) {
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
    ToolCall tool{.name = std::string(name->get_string()),
                  .arguments = std::move(arguments),
                  .principal = std::move(call.principal)};
    RpcResult<Answer> answer = co_await toolbox_.call(std::move(tool), std::move(cancellation));
    co_return answer;
}

}  // namespace belljar::mcp
