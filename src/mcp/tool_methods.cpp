#include "mcp/tool_methods.h"

#include <fmt/format.h>

#include <algorithm>

#include "mcp/quote.h"
#include "mcp/task_methods.h"

namespace belljar::mcp {
namespace {

using engine::CancellationPtr;

// Of different rights and revisions; who makes up more than that waits for a new one each time.
constexpr std::size_t kMostLists = 64;

struct Wanted {
    std::string name{};
    json::object arguments{};
};

RpcResult<Wanted> read_wanted(const json::object& params) {
    const json::value* name = params.if_contains("name");
    if (name == nullptr || !name->is_string()) {
        return rpc_fail(RpcCode::InvalidParams,
                        "tools/call needs params.name, the name of the tool, as a string.");
    }
    Wanted wanted{.name = std::string(name->get_string())};
    const json::value* given = params.if_contains("arguments");
    if (given != nullptr && given->is_object()) {
        wanted.arguments = given->get_object();
    } else if (given != nullptr && !given->is_null()) {
        return rpc_fail(
            RpcCode::InvalidParams,
            fmt::format("params.arguments must be an object, not {}.", describe_kind(*given)));
    }
    return wanted;
}

bool is_required(TaskUse use) {
    return use == TaskUse::Required || use == TaskUse::RequiredAfterInput;
}

// Whether this request of a client that knows tasks may be answered with one.
bool may_become_task(TaskUse use, const json::object& params) {
    return use == TaskUse::RequiredAfterInput ? params.contains("inputResponses")
                                              : use != TaskUse::Never;
}

// A client that cannot be asked is no fault of the model's, but only the model can do without.
ToolOutcome refusal_of(const RpcError& error) { return {.text = error.message, .failed = true}; }

}  // namespace

KnownTools& ToolMethods::known() {
    std::uint64_t version = 0;
    for (const Provider* provider : providers_) {
        version += provider->tools_version();  // each only grows
    }
    if (known_ && known_->version == version) {
        return *known_;
    }
    known_.emplace().version = version;
    for (const Provider* provider : providers_) {
        for (ToolDefinition& tool : provider->tools()) {
            std::vector<ParamHeader> headers = find_param_headers(tool.input_schema);
            if (!headers.empty()) {
                known_->headers.emplace(tool.name, std::move(headers));
            }
            known_->tools.emplace(tool.name, std::move(tool));
        }
    }
    return *known_;
}

std::string ToolMethods::make_list(const Call& call) const {
    ToolList list;
    for (const Provider* provider : providers_) {
        for (ToolDefinition& tool : provider->tools()) {
            if (access::allows(call.rights, provider->tool_needs(tool.name, {}))) {
                list.tools.push_back(std::move(tool));
            }
        }
    }
    std::string text = to_text(encode(list, call.revision, identity_));
    text += kEndOfMessage;
    return text;
}

RpcResult<std::shared_ptr<const std::string>> ToolMethods::list(const Call& call) {
    if (call.message.params.contains("cursor")) {
        return rpc_fail(RpcCode::InvalidParams,
                        "tools/list gives all tools at once, so no cursor is valid; leave "
                        "params.cursor out.");
    }
    std::vector<KnownTools::List>& lists = known().lists;
    const auto found = std::ranges::find_if(lists, [&call](const KnownTools::List& list) {
        return list.revision == call.revision && list.rights == call.rights;
    });
    if (found != lists.end()) {
        return found->text;
    }
    if (lists.size() >= kMostLists) {
        lists.clear();
    }
    lists.push_back(
        {call.revision, call.rights, std::make_shared<const std::string>(make_list(call))});
    return lists.back().text;
}

Provider* ToolMethods::find(std::string_view name) const {
    for (Provider* provider : providers_) {
        if (provider->has_tool(name)) {
            return provider;
        }
    }
    return nullptr;
}

access::Rights ToolMethods::lacking_rights(const Call& call) const {
    const json::value* name =
        call.message.method == "tools/call" ? call.message.params.if_contains("name") : nullptr;
    const json::string* text = name != nullptr ? name->if_string() : nullptr;
    const Provider* provider = text != nullptr ? find(*text) : nullptr;
    if (provider == nullptr) {
        return {};
    }
    static const json::object kNothing;
    const json::value* given = call.message.params.if_contains("arguments");
    const json::object* arguments = given != nullptr ? given->if_object() : nullptr;
    return call.rights.missing(
        provider->tool_needs(*text, arguments != nullptr ? *arguments : kNothing));
}

std::optional<RpcError> ToolMethods::find_header_fault(const Message& message,
                                                       const access::HttpRequest& request) {
    const RpcResult<Wanted> wanted = read_wanted(message.params);
    if (!wanted) {
        return std::nullopt;  // call() says what is wrong with it
    }
    const auto& headers = known().headers;
    const auto marked = headers.find(wanted->name);
    return marked != headers.end() ? find_param_fault(marked->second, wanted->arguments, request)
                                   : std::nullopt;
}

TaskUse ToolMethods::task_use(const std::string& name) {
    const auto& tools = known().tools;
    const auto found = tools.find(name);
    return found != tools.end() ? found->second.tasks : TaskUse::Never;
}

std::string ToolMethods::encoded(const ToolOutcome& outcome, Revision revision) const {
    return to_text(encode(outcome, revision, identity_));
}

Task<RpcResult<std::string>> ToolMethods::call(Call call, CancellationPtr cancellation) {
    RpcResult<Wanted> wanted = read_wanted(call.message.params);
    if (!wanted) {
        co_return std::unexpected(std::move(wanted.error()));
    }
    Provider* provider = find(wanted->name);
    if (provider == nullptr) {
        co_return rpc_fail(RpcCode::InvalidParams,
                           fmt::format("There is no tool {}; tools/list names those that there "
                                       "are.",
                                       quote(wanted->name)));
    }
    if (const access::Rights lacking = lacking_rights(call); !lacking.empty()) {
        co_return encoded({.text = fmt::format("{} needs the right {}, which this caller does not "
                                               "have. Ask whoever runs this server for it.",
                                               wanted->name, access::scope_of(lacking)),
                           .failed = true},
                          call.revision);
    }
    const TaskUse use = task_use(wanted->name);
    const bool may_be_task =
        era_of(call.revision) == Era::Modern && knows_tasks(capabilities_of(call));
    const Tasks::Work work = [provider, wanted = std::move(*wanted)](Asker asker,
                                                                     CancellationPtr stop) {
        return provider->call_tool({wanted.name, wanted.arguments, std::move(asker)},
                                   std::move(stop));
    };
    if (is_required(use) && !may_be_task) {
        co_return std::unexpected(tasks_not_declared());
    }
    const RpcResult<NoticeWishes> wishes =
        read_wishes(call.message.params, call.revision, call.memory);
    if (!wishes) {
        co_return std::unexpected(wishes.error());
    }
    // Who wants to hear of progress hears of it; a task is silent until it is asked.
    const bool silent = use != TaskUse::WhenLong || !wishes->any();
    if (may_be_task && silent && may_become_task(use, call.message.params)) {
        RpcResult<std::string> result =
            co_await call_as_task(std::move(call), work, std::move(cancellation));
        co_return result;
    }
    const Rounds::Handler<ToolOutcome> handler = [work, cancellation](Asker asker) {
        return work(std::move(asker), cancellation);
    };
    RpcResult<std::string> result =
        co_await call_at_once(std::move(call), handler, std::move(cancellation));
    co_return result;
}

Task<RpcResult<std::string>> ToolMethods::call_at_once(Call call,
                                                       Rounds::Handler<ToolOutcome> handler,
                                                       CancellationPtr cancellation) {
    const Revision revision = call.revision;
    Rounds::Ended<ToolOutcome> ended =
        co_await rounds_.run<ToolOutcome>(std::move(call), std::move(handler), cancellation);
    if (!ended && era_of(revision) == Era::Legacy &&
        ended.error().code == RpcCode::MissingCapability) {
        co_return encoded(refusal_of(ended.error()), revision);
    }
    if (!ended) {
        co_return std::unexpected(std::move(ended.error()));
    }
    if (json::object* needed = std::get_if<json::object>(&*ended)) {
        co_return to_text(complete(std::move(*needed), revision, identity_));
    }
    co_return encoded(std::get<ToolOutcome>(*ended), revision);
}

Task<RpcResult<std::string>> ToolMethods::call_as_task(Call call, Tasks::Work work,
                                                       CancellationPtr cancellation) {
    RpcResult<Asker> asker = rounds_.asker_of(call);
    if (!asker) {
        co_return std::unexpected(std::move(asker.error()));
    }
    const bool at_once =
        task_use(std::string(call.message.params.at("name").as_string())) != TaskUse::WhenLong;
    RpcResult<BackgroundTaskPtr> begun = tasks_.begin(std::move(*asker), std::move(work));
    if (!begun) {
        co_return std::unexpected(std::move(begun.error()));
    }
    const BackgroundTaskPtr task = std::move(*begun);
    if (!at_once) {
        co_await Tasks::wait(task, kPatience, cancellation);
    }
    if (!at_once && (task->is_over() || cancellation->requested())) {
        tasks_.cancel(task);
        tasks_.forget(task);
        if (task->error()) {
            co_return std::unexpected(*task->error());
        }
        co_return encoded(task->outcome().value_or(ToolOutcome{.failed = true}), call.revision);
    }
    json::object created = task->describe();
    created["resultType"] = "task";
    co_return to_text(complete(std::move(created), call.revision, identity_));
}

}  // namespace belljar::mcp
