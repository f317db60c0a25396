#include "mcp/listen.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "access/response_stream.h"
#include "mcp/rounds.h"
#include "mcp/task_methods.h"

namespace belljar::mcp {
namespace {

using engine::CancellationPtr;

constexpr std::string_view kSubscriptionKey = "io.modelcontextprotocol/subscriptionId";
constexpr std::size_t kMostNames = 256;
// Of a notification about a task, which has the whole result in it or is not sent: it is for the
// client to ask for a task that it hears nothing of. Longer ones would be taken for a client that
// does not keep up.
constexpr std::size_t kLongestTold = access::ResponseStream::kCapacity.count / 2;

struct Notification {
    std::string method{};
    json::object params{};
};

Notification notification_of(const Change& change) {
    switch (change.kind) {
        case Change::Kind::Tools:
            return {.method = "notifications/tools/list_changed"};
        case Change::Kind::Prompts:
            return {.method = "notifications/prompts/list_changed"};
        case Change::Kind::Resources:
            return {.method = "notifications/resources/list_changed"};
        case Change::Kind::Resource:
            return {.method = "notifications/resources/updated", .params = {{"uri", change.name}}};
        case Change::Kind::Task:
            return {.method = "notifications/tasks"};
    }
    return {};
}

RpcResult<bool> read_wish(const json::object& wishes, std::string_view name) {
    const json::value* wish = wishes.if_contains(name);
    if (wish != nullptr && !wish->is_bool()) {
        return rpc_fail(RpcCode::InvalidParams,
                        fmt::format("params.notifications.{} must be true or false.", name));
    }
    return wish != nullptr && wish->get_bool();
}

RpcResult<std::set<std::string>> read_names(const json::object& wishes, std::string_view name) {
    std::set<std::string> names;
    const json::value* given = wishes.if_contains(name);
    if (given == nullptr) {
        return names;
    }
    const json::array* array = given->if_array();
    const bool fits =
        array != nullptr && array->size() <= kMostNames &&
        std::ranges::all_of(*array, [](const json::value& entry) { return entry.is_string(); });
    if (!fits) {
        return rpc_fail(RpcCode::InvalidParams,
                        fmt::format("params.notifications.{} must be an array of at most {} "
                                    "strings.",
                                    name, kMostNames));
    }
    for (const json::value& entry : *array) {
        names.emplace(entry.get_string());
    }
    return names;
}

json::array to_array(const std::set<std::string>& names) {
    json::array array;
    for (const std::string& name : names) {
        array.emplace_back(name);
    }
    return array;
}

// Counts a stream as long as it is open.
class Count {
   public:
    explicit Count(std::size_t& count) : count_(count) { ++count_; }
    Count(const Count&) = delete;
    Count& operator=(const Count&) = delete;
    ~Count() { --count_; }

   private:
    std::size_t& count_;
};

}  // namespace

bool ListenFilter::wants(const Change& change) const {
    switch (change.kind) {
        case Change::Kind::Tools:
            return tools;
        case Change::Kind::Prompts:
            return prompts;
        case Change::Kind::Resources:
            return resources;
        case Change::Kind::Resource:
            return uris.contains(change.name);
        case Change::Kind::Task:
            return tasks.contains(change.name);
    }
    return false;
}

json::object ListenFilter::encode() const {
    json::object object;
    if (tools) {
        object["toolsListChanged"] = true;
    }
    if (prompts) {
        object["promptsListChanged"] = true;
    }
    if (resources) {
        object["resourcesListChanged"] = true;
    }
    if (!uris.empty()) {
        object["resourceSubscriptions"] = to_array(uris);
    }
    if (!tasks.empty()) {
        object["taskIds"] = to_array(tasks);
    }
    return object;
}

std::optional<std::string> legacy_notification(const Change& change,
                                               const ConnectionMemory& memory) {
    const bool concerns = change.kind == Change::Kind::Resource
                              ? memory.subscriptions.contains(change.name)
                              : change.kind != Change::Kind::Task;
    if (!concerns) {
        return std::nullopt;
    }
    Notification notification = notification_of(change);
    return notification_message(notification.method, std::move(notification.params));
}

RpcResult<ListenFilter> ListenMethod::read_filter(const Call& call) {
    const json::value* given = call.message.params.if_contains("notifications");
    if (given == nullptr || !given->is_object()) {
        return rpc_fail(RpcCode::InvalidParams,
                        "subscriptions/listen needs params.notifications, an object that says what "
                        "to listen for.");
    }
    const json::object& wishes = given->get_object();
    const RpcResult<bool> tools = read_wish(wishes, "toolsListChanged");
    const RpcResult<bool> prompts = read_wish(wishes, "promptsListChanged");
    const RpcResult<bool> resources = read_wish(wishes, "resourcesListChanged");
    for (const RpcResult<bool>* wish : {&tools, &prompts, &resources}) {
        if (!*wish) {
            return std::unexpected(wish->error());
        }
    }
    RpcResult<std::set<std::string>> uris = read_names(wishes, "resourceSubscriptions");
    RpcResult<std::set<std::string>> tasks = read_names(wishes, "taskIds");
    for (const RpcResult<std::set<std::string>>* names : {&uris, &tasks}) {
        if (!*names) {
            return std::unexpected(names->error());
        }
    }
    if (!tasks->empty() && !knows_tasks(capabilities_of(call))) {
        return std::unexpected(tasks_not_declared());
    }
    std::erase_if(*tasks, [this, &call](const std::string& id) {
        return tasks_.find(call.principal, id) == nullptr;
    });
    const bool lists_change = std::ranges::any_of(
        providers_, [](const Provider* provider) { return provider->changes_lists(); });
    return ListenFilter{.tools = *tools && lists_change,
                        .prompts = *prompts && lists_change,
                        .resources = *resources,
                        .uris = std::move(*uris),
                        .tasks = std::move(*tasks)};
}

// Whoever does not keep up is not waited for: its stream ends, and it comes back.
Task<RpcResult<std::string>> ListenMethod::listen(Call call, CancellationPtr cancellation) {
    RpcResult<ListenFilter> filter = read_filter(call);
    if (!filter) {
        co_return std::unexpected(std::move(filter.error()));
    }
    if (open_ >= kMost || !call.notify) {
        co_return rpc_fail(RpcCode::InternalError,
                           "There are too many listeners already; try again later.");
    }
    const Count count(open_);
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer ended(executor, asio::steady_timer::time_point::max());
    const json::object meta{{kSubscriptionKey, call.message.id}};
    call.notify(notification_message("notifications/subscriptions/acknowledged",
                                     {{"notifications", filter->encode()}, {"_meta", meta}}));
    bool kept_up = true;
    const auto tell = [&](const Change& change) {
        if (!filter->wants(change) || !change.concerns(call.principal) || !kept_up) {
            return;
        }
        Notification notification = notification_of(change);
        if (change.kind == Change::Kind::Task) {
            if (const BackgroundTaskPtr task = tasks_.find(call.principal, change.name)) {
                notification.params = describe_fully(*task, call.revision, identity_);
            }
        }
        notification.params["_meta"] = meta;
        std::string message =
            notification_message(notification.method, std::move(notification.params));
        if (change.kind == Change::Kind::Task && message.size() > kLongestTold) {
            return;
        }
        kept_up = call.notify(std::move(message));
        if (!kept_up) {
            ended.cancel();
        }
    };
    const Changes::Subscription subscription = changes_.listen(tell);
    cancellation->on_request([&ended] { ended.cancel(); });
    if (!cancellation->requested()) {
        boost::system::error_code ignored;
        co_await ended.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
    cancellation->on_request(nullptr);
    co_return to_text(complete({{"_meta", meta}}, call.revision, identity_));
}

}  // namespace belljar::mcp
