#include "mcp/rounds.h"

#include <fmt/format.h>

#include "mcp/era.h"

namespace belljar::mcp {
namespace {

constexpr std::string_view kStateKey = "requestState";
constexpr std::string_view kResponsesKey = "inputResponses";

const json::object* object_at(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains(key);
    return value != nullptr ? value->if_object() : nullptr;
}

bool is_url_mode(const json::object& request) {
    const json::object* params = object_at(request, "params");
    const json::value* mode = params != nullptr ? params->if_contains("mode") : nullptr;
    return mode != nullptr && *mode == "url";
}

std::optional<json::object> missing_elicitation(const json::object& capabilities,
                                                const json::object& request) {
    const json::object* declared = object_at(capabilities, "elicitation");
    const std::string_view mode = is_url_mode(request) ? "url" : "form";
    // An empty declaration stands for forms.
    const bool has =
        declared != nullptr && (declared->contains(mode) || (declared->empty() && mode == "form"));
    if (has) {
        return std::nullopt;
    }
    return json::object{{"elicitation", json::object{{mode, json::object{}}}}};
}

// What the state belongs to: the request without what changes from round to round.
StateBinding binding_of(const Call& call) {
    json::object params = call.message.params;
    params.erase("_meta");
    params.erase(kStateKey);
    params.erase(kResponsesKey);
    return {.principal = call.principal,
            .method = call.message.method,
            .params = to_text(json::value(std::move(params)))};
}

}  // namespace

std::optional<json::object> missing_capability(const json::object& capabilities,
                                               const json::object& request) {
    const json::value* method = request.if_contains("method");
    if (method != nullptr && *method == "elicitation/create") {
        return missing_elicitation(capabilities, request);
    }
    const std::string_view needed =
        method != nullptr && *method == "roots/list" ? "roots" : "sampling";
    if (capabilities.contains(needed)) {
        return std::nullopt;
    }
    return json::object{{needed, json::object{}}};
}

json::object capabilities_of(const Call& call) {
    if (era_of(call.revision) == Era::Legacy) {
        return call.memory != nullptr ? call.memory->capabilities : json::object{};
    }
    const json::object* meta = object_at(call.message.params, "_meta");
    const json::object* declared =
        meta != nullptr ? object_at(*meta, kClientCapabilitiesKey) : nullptr;
    return declared != nullptr ? *declared : json::object{};
}

// What the message says of its trace goes before what its HTTP request says.
std::optional<access::TraceContext> trace_of(const Call& call) {
    const json::object* meta = object_at(call.message.params, "_meta");
    const json::value* parent = meta != nullptr ? meta->if_contains("traceparent") : nullptr;
    const json::value* state = meta != nullptr ? meta->if_contains("tracestate") : nullptr;
    if (parent != nullptr && parent->is_string()) {
        const std::string_view text =
            state != nullptr && state->is_string() ? std::string_view(state->get_string()) : "";
        if (auto trace = access::parse_trace(parent->get_string(), text)) {
            return trace;
        }
    }
    return call.trace;
}

std::string client_name(const json::object& info) {
    constexpr std::size_t kLongest = 256;
    std::string text;
    for (const std::string_view part : {"name", "version"}) {
        const json::value* value = info.if_contains(part);
        if (value != nullptr && value->is_string()) {
            text += (text.empty() ? "" : " ") + std::string(value->get_string());
        }
    }
    return text.substr(0, kLongest);
}

// What a client says of itself goes before what the library says that it sends with.
access::Origin origin_of(const Call& call) {
    access::Origin origin = call.origin;
    std::string name = call.memory != nullptr ? call.memory->client : "";
    const json::object* meta = object_at(call.message.params, "_meta");
    const json::object* info = meta != nullptr ? object_at(*meta, kClientInfoKey) : nullptr;
    if (era_of(call.revision) == Era::Modern && info != nullptr) {
        name = client_name(*info);
    }
    if (!name.empty()) {
        origin.client = std::move(name);
    }
    return origin;
}

RpcResult<Asker> Rounds::asker_of(const Call& call) {
    RpcResult<NoticeWishes> wishes = read_wishes(call.message.params, call.revision, call.memory);
    if (!wishes) {
        return std::unexpected(std::move(wishes.error()));
    }
    Asker asker{.principal = call.principal,
                .rights = call.rights,
                .trace = trace_of(call),
                .origin = origin_of(call),
                .capabilities = capabilities_of(call),
                .wishes = std::move(*wishes),
                .notify = call.notify,
                .hang_up = call.hang_up};
    if (era_of(call.revision) == Era::Legacy) {
        return asker;
    }
    if (const json::value* responses = call.message.params.if_contains(kResponsesKey)) {
        if (!responses->is_object()) {
            return rpc_fail(RpcCode::InvalidParams,
                            "params.inputResponses must be an object with one member for each "
                            "input request.");
        }
        asker.inputs = responses->get_object();
    }
    if (const json::value* state = call.message.params.if_contains(kStateKey)) {
        if (!state->is_string()) {
            return rpc_fail(RpcCode::InvalidParams, "params.requestState must be a string.");
        }
        RpcResult<json::value> opened =
            states_.open(state->get_string(), binding_of(call), RequestStates::Clock::now());
        if (!opened) {
            return std::unexpected(std::move(opened.error()));
        }
        asker.state = std::move(*opened);
    }
    return asker;
}

std::optional<RpcError> Rounds::find_fault(const json::object& capabilities,
                                           const InputNeeded& needed) {
    json::object missing;
    for (const json::key_value_pair& request : needed.requests) {
        if (std::optional<json::object> lacking =
                missing_capability(capabilities, request.value().as_object())) {
            for (json::key_value_pair& capability : *lacking) {
                missing[capability.key()] = std::move(capability.value());
            }
        }
    }
    if (missing.empty()) {
        return std::nullopt;
    }
    return RpcError{.code = RpcCode::MissingCapability,
                    .message = fmt::format("This needs a client that declares {}.",
                                           to_text(json::value(missing))),
                    .data = json::object{{"requiredCapabilities", std::move(missing)}}};
}

json::object Rounds::encode(const Call& call, InputNeeded needed) const {
    json::object result{{"resultType", "input_required"}};
    if (!needed.requests.empty()) {
        result["inputRequests"] = std::move(needed.requests);
    }
    if (!needed.state.is_null()) {
        result[kStateKey] =
            states_.seal(needed.state, binding_of(call), RequestStates::Clock::now());
    }
    return result;
}

Task<RpcResult<json::object>> Rounds::ask_all(Call call, json::object requests,
                                              engine::CancellationPtr cancellation) {
    if (!call.questions) {
        co_return rpc_fail(RpcCode::InvalidParams,
                           "This has to ask its client something, which needs a session: begin "
                           "with initialize and send the Mcp-Session-Id that it gives.");
    }
    json::object answers;
    for (json::key_value_pair& request : requests) {
        json::object& question = request.value().as_object();
        json::value* params = question.if_contains("params");
        Questions::Question asked{
            .method = std::string(question.at("method").as_string()),
            .params = params != nullptr ? std::move(params->as_object()) : json::object{}};
        RpcResult<json::value> answer =
            co_await call.questions->ask(std::move(asked), call.send_question, cancellation);
        if (!answer) {
            co_return std::unexpected(std::move(answer.error()));
        }
        answers[request.key()] = std::move(*answer);
    }
    co_return answers;
}

}  // namespace belljar::mcp
