#include "outcome/result_json.h"

#include <boost/json/array.hpp>

#include "base/base64.h"
#include "base/utf8.h"
#include "outcome/session_json.h"

namespace belljar::outcome {
namespace {

using execution::CappedLimit;
using execution::CapturedStream;
using execution::Denial;
using execution::GuestError;
using execution::Output;
using execution::ProducedFile;
using execution::RunResult;
using execution::Timing;
using execution::Usage;

json::string text(std::string_view guest_text) { return json::string(make_valid_utf8(guest_text)); }

template <typename T>
json::value or_null(const std::optional<T>& value) {
    return value ? json::value(*value) : json::value(nullptr);
}

// Guest values travel as JSON text; what does not parse is shown as the text it is.
json::value embedded(const std::string& json_text) {
    const Result<json::value> value = parse_json(json_text);
    return value ? *value : json::value(text(json_text));
}

json::object to_json(const GuestError& error) {
    json::object object{{"type", text(error.type)}, {"message", text(error.message)}};
    if (error.line) {
        object["line"] = *error.line;
    }
    if (error.traceback) {
        object["traceback"] = text(*error.traceback);
    }
    return object;
}

json::value to_json(const std::string& mime, const std::string& representation) {
    switch (execution::encoding_of(mime)) {
        case execution::Encoding::Text:
            return text(representation);
        case execution::Encoding::Json:
            return embedded(representation);
        case execution::Encoding::Binary:
            break;
    }
    return json::string(encode_base64(representation));
}

json::object to_json(const Output& output) {
    json::object bundle;
    for (const auto& [mime, representation] : output.bundle) {
        bundle[make_valid_utf8(mime)] = to_json(mime, representation);
    }
    return bundle;
}

json::object to_json(const ProducedFile& file) {
    return {{"name", text(file.name)}, {"change", file.change}, {"size", file.size},
            {"mime", file.mime},       {"sha256", file.sha256}, {"url", file.url},
            {"uri", text(file.uri)}};
}

json::object to_json(const Denial& denial) {
    return {{"what", text(denial.what)},
            {"rule", denial.rule},
            {"hint", denial.hint},
            {"source", execution::name_of(denial.source)}};
}

json::object to_json(const execution::Finding& finding) {
    return {{"rule", finding.rule},
            {"severity", execution::name_of(finding.severity)},
            {"action", execution::name_of(finding.action)},
            {"line", finding.line},
            {"text", text(finding.text)}};
}

json::object to_json(const Timing& timing) {
    json::object object{{"jar_ready", timing.jar_ready}};
    for (const auto& [name, time] : execution::kTimingSteps) {
        object[std::string(name) + "_milliseconds"] = to_seconds(timing.*time) * 1000.0;
    }
    return object;
}

json::object to_json(const execution::MaskCounts& counts) {
    json::object object;
    for (const auto& [type, count] : counts) {
        object[type] = count;
    }
    return object;
}

template <typename T>
json::array list(const std::vector<T>& items) {
    json::array array;
    array.reserve(items.size());
    for (const T& item : items) {
        array.emplace_back(to_json(item));
    }
    return array;
}

json::array texts(const std::vector<std::string>& items) {
    json::array array;
    array.reserve(items.size());
    for (const std::string& item : items) {
        array.emplace_back(text(item));
    }
    return array;
}

void add_stream(json::object& object, const std::string& name, const CapturedStream& stream) {
    object[name] = text(stream.text);
    object[name + "_truncated"] = stream.truncated;
    object[name + "_bytes"] = stream.bytes;
}

// Only if there is something to say.
void add_access(json::object& object, const execution::FileAccess& access) {
    if (access.read.empty() && access.written.empty() && access.deleted.empty()) {
        return;
    }
    json::object told{{"read", texts(access.read)},
                      {"written", texts(access.written)},
                      {"deleted", texts(access.deleted)},
                      {"complete", access.complete}};
    if (access.more > 0) {
        told["more"] = access.more;
    }
    object["file_access"] = std::move(told);
}

void add_attempts(json::object& object, const execution::NetworkAttempts& attempts) {
    if (attempts == execution::NetworkAttempts{}) {
        return;
    }
    object["network_attempts"] = json::object{{"without_route", attempts.without_route},
                                              {"connections", attempts.connections},
                                              {"datagrams", attempts.datagrams},
                                              {"places", texts(attempts.places)}};
}

void add_if_set(json::object& object, std::string_view name,
                const std::optional<std::string>& value) {
    if (value) {
        object[name] = text(*value);
    }
}

}  // namespace

json::object to_json(const Usage& usage) {
    return {{"wall_seconds", to_seconds(usage.wall)},
            {"cpu_seconds", to_seconds(usage.cpu)},
            {"memory_peak_bytes", usage.memory_peak_bytes},
            {"disk_written_bytes", usage.disk_written_bytes},
            {"processes_peak", usage.processes_peak}};
}

json::object to_json(const std::vector<CappedLimit>& capped) {
    json::object object;
    for (const CappedLimit& limit : capped) {
        object[limit.argument] =
            json::object{{"asked", embedded(limit.asked)}, {"given", embedded(limit.given)}};
    }
    return object;
}

json::object to_json(const RunResult& result) {
    json::object object;
    object["execution_id"] = result.execution_id;
    add_if_set(object, "conversation_id", result.conversation_id);
    add_if_set(object, "session_id", result.session_id);
    if (result.session) {
        object["session"] = to_json(*result.session);
    }
    object["language"] = text(result.language);
    object["runner"] = result.runner;
    object["status"] = execution::name_of(result.status);
    object["success"] = result.success();
    object["exit_code"] = or_null(result.exit_code);
    if (result.signal) {
        object["signal"] = *result.signal;
    }
    add_stream(object, "stdout", result.stdout_stream);
    add_stream(object, "stderr", result.stderr_stream);
    add_if_set(object, "full_output", result.full_output);
    object["result"] = result.result_json ? embedded(*result.result_json) : json::value(nullptr);
    object["result_repr"] =
        result.result_repr ? json::value(text(*result.result_repr)) : json::value(nullptr);
    object["variables"] = texts(result.variables);
    object["outputs"] = list(result.outputs);
    if (result.outputs_omitted > 0) {
        object["outputs_omitted"] = result.outputs_omitted;
    }
    if (result.report != execution::Report::Whole) {
        object["report"] = execution::name_of(result.report);
    }
    object["files"] = list(result.files);
    if (result.error) {
        object["error"] = to_json(*result.error);
    }
    object["denials"] = list(result.denials);
    if (!result.capped.empty()) {
        object["capped"] = to_json(result.capped);
    }
    if (!result.masked.empty()) {
        object["masked"] = to_json(result.masked);
    }
    add_access(object, result.file_access);
    add_attempts(object, result.network_attempts);
    if (!result.profile.empty()) {
        object["profile"] = result.profile;
        object["policy_version"] = result.policy_version;
    }
    if (!result.findings.empty()) {
        object["findings"] = list(result.findings);
    }
    object["usage"] = to_json(result.usage);
    object["isolation"] = to_json(result.isolation);
    object["execution_time"] = to_seconds(result.usage.wall);
    if (result.debug) {
        json::object debug = to_json(result.timing);
        if (result.trace) {
            debug["trace_id"] = *result.trace;
        }
        object["debug"] = std::move(debug);
    }
    return object;
}

json::object to_json(const execution::Limits& limits) {
    return {{"timeout_seconds", to_seconds(limits.timeout)},
            {"memory_bytes", limits.memory.count},
            {"cpu", limits.cpu},
            {"processes", limits.processes},
            {"output_bytes", limits.output.count},
            {"output_file_bytes", limits.output_file.count},
            {"tmp_bytes", limits.tmp.count},
            {"workspace_bytes", limits.workspace.count}};
}

json::object to_json(const execution::Isolation& isolation) {
    return {{"grade", isolation.grade},
            {"tier", isolation.tier},
            {"mode", isolation.mode},
            {"missing", texts(isolation.missing)}};
}

}  // namespace belljar::outcome
