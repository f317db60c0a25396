#include "mcp/task_methods.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "mcp/quote.h"

namespace belljar::mcp {
namespace {

using engine::CancellationPtr;

json::object encode_error(const RpcError& error) {
    json::object object{{"code", static_cast<int>(error.code)},
                        {"message", make_valid_utf8(error.message)}};
    if (!error.data.is_null()) {
        object["data"] = error.data;
    }
    return object;
}

}  // namespace

bool knows_tasks(const json::object& capabilities) {
    const json::value* extensions = capabilities.if_contains("extensions");
    return extensions != nullptr && extensions->is_object() &&
           extensions->get_object().contains(kTasksExtension);
}

RpcError tasks_not_declared() {
    return {.code = RpcCode::MissingCapability,
            .message =
                fmt::format("This needs a client that declares the extension {}.", kTasksExtension),
            .data = json::object{
                {"requiredCapabilities",
                 json::object{{"extensions", json::object{{kTasksExtension, json::object{}}}}}}}};
}

json::object describe_fully(const BackgroundTask& task, Revision revision,
                            const Identity& identity) {
    json::object object = task.describe();
    switch (task.status()) {
        case BackgroundTask::Status::Completed:
            object["result"] = encode(*task.outcome(), revision, identity);
            break;
        case BackgroundTask::Status::Failed:
            object["error"] = encode_error(*task.error());
            break;
        case BackgroundTask::Status::InputRequired:
            object["inputRequests"] = task.requests();
            break;
        case BackgroundTask::Status::Working:
        case BackgroundTask::Status::Cancelled:
            break;
    }
    return object;
}

RpcResult<BackgroundTaskPtr> TaskMethods::find(const Call& call) {
    if (!knows_tasks(capabilities_of(call))) {
        return std::unexpected(tasks_not_declared());
    }
    const json::value* id = call.message.params.if_contains("taskId");
    const json::string* text = id != nullptr ? id->if_string() : nullptr;
    if (text == nullptr) {
        return rpc_fail(RpcCode::InvalidParams,
                        fmt::format("{} needs params.taskId as a string.", call.message.method));
    }
    BackgroundTaskPtr task = tasks_.find(call.principal, std::string(*text));
    if (task == nullptr) {
        return rpc_fail(RpcCode::InvalidParams,
                        fmt::format("There is no task {}; it may have expired.", quote(*text)));
    }
    return task;
}

Task<RpcResult<std::string>> TaskMethods::get(Call call, CancellationPtr /*cancellation*/) {
    RpcResult<BackgroundTaskPtr> task = find(call);
    if (!task) {
        co_return std::unexpected(std::move(task.error()));
    }
    co_return to_text(
        complete(describe_fully(**task, call.revision, identity_), call.revision, identity_));
}

Task<RpcResult<std::string>> TaskMethods::update(Call call, CancellationPtr /*cancellation*/) {
    RpcResult<BackgroundTaskPtr> task = find(call);
    if (!task) {
        co_return std::unexpected(std::move(task.error()));
    }
    const json::value* inputs = call.message.params.if_contains("inputResponses");
    if (inputs == nullptr || !inputs->is_object()) {
        co_return rpc_fail(RpcCode::InvalidParams,
                           "tasks/update needs params.inputResponses, an object with one member "
                           "for each input request.");
    }
    tasks_.give(*task, inputs->get_object());
    co_return to_text(complete({}, call.revision, identity_));
}

Task<RpcResult<std::string>> TaskMethods::cancel(Call call, CancellationPtr /*cancellation*/) {
    RpcResult<BackgroundTaskPtr> task = find(call);
    if (!task) {
        co_return std::unexpected(std::move(task.error()));
    }
    tasks_.cancel(*task);
    co_return to_text(complete({}, call.revision, identity_));
}

}  // namespace belljar::mcp
