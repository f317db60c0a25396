#include "audit/entries.h"

#include <boost/json/array.hpp>
#include <chrono>

#include "base/clock.h"
#include "base/utc_time.h"

namespace belljar::audit {
namespace {

using execution::RunAccount;
using execution::RunResult;

constexpr std::size_t kMostItems = 256;  // of a list
constexpr std::size_t kLongestName = 1024;
constexpr std::size_t kLongestCode = std::size_t{16} * 1024 * 1024;

std::int64_t milliseconds(Duration duration) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

std::int64_t microseconds(Duration duration) {
    return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

json::array names(const std::vector<std::string>& list, const Redaction& redaction) {
    json::array array;
    for (const std::string& name : list) {
        if (array.size() == kMostItems) {
            break;
        }
        array.emplace_back(redaction.clean(name, kLongestName));
    }
    return array;
}

void add_text(json::object& object, std::string_view name, const std::string& text,
              const Redaction& redaction) {
    if (!text.empty()) {
        object[name] = redaction.clean(text);
    }
}

void add_text(json::object& object, std::string_view name, const std::optional<std::string>& text,
              const Redaction& redaction) {
    if (text) {
        object[name] = redaction.clean(*text);
    }
}

json::object limits_json(const execution::Limits& limits) {
    return {{"timeout_ms", milliseconds(limits.timeout)},
            {"memory_bytes", limits.memory.count},
            {"cpu", limits.cpu},
            {"processes", limits.processes},
            {"output_bytes", limits.output.count},
            {"tmp_bytes", limits.tmp.count},
            {"workspace_bytes", limits.workspace.count}};
}

json::object usage_json(const RunResult& result) {
    return {{"wall_us", microseconds(result.usage.wall)},
            {"cpu_us", microseconds(result.usage.cpu)},
            {"memory_peak_bytes", result.usage.memory_peak_bytes},
            {"disk_written_bytes", result.usage.disk_written_bytes},
            {"processes_peak", result.usage.processes_peak},
            {"stdout_bytes", result.stdout_stream.bytes},
            {"stderr_bytes", result.stderr_stream.bytes}};
}

json::object isolation_json(const execution::Isolation& isolation) {
    return {{"grade", isolation.grade},
            {"tier", isolation.tier},
            {"mode", isolation.mode},
            {"missing", json::array(isolation.missing.begin(), isolation.missing.end())}};
}

json::array findings_json(const RunResult& result) {
    json::array findings;
    for (const execution::Finding& finding : result.findings) {
        if (findings.size() == kMostItems) {
            break;
        }
        findings.push_back(json::object{{"rule", finding.rule},
                                        {"severity", execution::name_of(finding.severity)},
                                        {"action", execution::name_of(finding.action)},
                                        {"line", finding.line}});
    }
    return findings;
}

// What was refused inside: the rule for everybody, the words for those who may know the person.
void add_denials(Entry& entry, const RunResult& result, const Redaction& redaction) {
    json::array rules;
    json::array words;
    for (const execution::Denial& denial : result.denials) {
        if (rules.size() == kMostItems) {
            break;
        }
        rules.push_back(
            json::object{{"rule", denial.rule}, {"source", execution::name_of(denial.source)}});
        words.emplace_back(redaction.clean(denial.what));
    }
    entry.body["denials"] = std::move(rules);
    if (!words.empty()) {
        entry.personal["denials"] = std::move(words);
    }
}

void add_files(Entry& entry, const RunResult& result, const Redaction& redaction) {
    const execution::FileAccess& access = result.file_access;
    entry.body["files"] =
        json::object{{"read", access.read.size()},       {"written", access.written.size()},
                     {"deleted", access.deleted.size()}, {"more", access.more},
                     {"complete", access.complete},      {"produced", result.files.size()}};
    json::object files;
    const auto add = [&files, &redaction](std::string_view name,
                                          const std::vector<std::string>& list) {
        if (!list.empty()) {
            files[name] = names(list, redaction);
        }
    };
    add("read", access.read);
    add("written", access.written);
    add("deleted", access.deleted);
    json::array produced;
    for (const execution::ProducedFile& file : result.files) {
        if (produced.size() == kMostItems) {
            break;
        }
        produced.push_back(json::object{{"name", redaction.clean(file.name, kLongestName)},
                                        {"change", file.change},
                                        {"size", file.size},
                                        {"sha256", file.sha256}});
    }
    if (!produced.empty()) {
        files["produced"] = std::move(produced);
    }
    if (!files.empty()) {
        entry.personal["files"] = std::move(files);
    }
}

void add_network(Entry& entry, const RunResult& result, const Redaction& redaction) {
    const execution::NetworkAttempts& attempts = result.network_attempts;
    entry.body["network"] = json::object{{"without_route", attempts.without_route},
                                         {"connections", attempts.connections},
                                         {"datagrams", attempts.datagrams}};
    if (!attempts.places.empty()) {
        entry.personal["network_places"] = names(attempts.places, redaction);
    }
}

void add_account(Entry& entry, const RunAccount& account, const Redaction& redaction) {
    entry.personal["principal"] = redaction.clean(account.principal);
    add_text(entry.personal, "client", account.client, redaction);
    add_text(entry.personal, "address", account.address, redaction);
    add_text(entry.personal, "label", account.label, redaction);
    add_text(entry.personal, "trace_id", account.trace, redaction);
    add_text(entry.personal, "approved_by", account.approved_by, redaction);
    entry.personal["code_sha256"] = account.code_sha256;
    if (account.code) {
        entry.personal["code"] = redaction.clean(*account.code, kLongestCode);
    }
    entry.body["asked"] = format_utc(account.asked);
    entry.body["protocol"] = execution::name_of(account.protocol);
    add_text(entry.body, "tool", account.tool, redaction);
    add_text(entry.body, "asked_profile", account.profile, redaction);
    entry.body["code_bytes"] = account.code_bytes;
    entry.body["approved"] = account.approved_by.has_value();
    const auto taken = std::chrono::system_clock::now() - account.asked;
    entry.body["duration_us"] =
        std::chrono::duration_cast<std::chrono::microseconds>(taken).count();
}

void add_result(Entry& entry, const RunResult& result, const Redaction& redaction) {
    json::object& body = entry.body;
    body["execution_id"] = redaction.clean(result.execution_id);
    body["language"] = result.language;
    body["runner"] = result.runner;
    body["status"] = execution::name_of(result.status);
    body["exit_code"] = result.exit_code ? json::value(*result.exit_code) : nullptr;
    body["signal"] = result.signal ? json::value(*result.signal) : nullptr;
    body["profile"] = result.profile;
    body["policy_version"] = result.policy_version;
    body["tools_digest"] = result.tools_digest;
    body["limits"] = limits_json(result.limits);
    body["usage"] = usage_json(result);
    body["isolation"] = isolation_json(result.isolation);
    if (!result.findings.empty()) {
        body["findings"] = findings_json(result);
    }
    if (!result.masked.empty()) {
        json::array masked;
        for (const auto& [type, count] : result.masked) {
            masked.push_back(json::object{{"type", type}, {"count", count}});
        }
        body["masked"] = std::move(masked);
    }
    add_denials(entry, result, redaction);
    add_files(entry, result, redaction);
    add_network(entry, result, redaction);
    add_text(entry.personal, "conversation_id", result.conversation_id, redaction);
    add_text(entry.personal, "session_id", result.session_id, redaction);
}

}  // namespace

Entry entry_of(const RunAccount& account, const Result<RunResult>& result,
               const Redaction& redaction) {
    Entry entry{.kind = result ? "run" : "refusal"};
    add_account(entry, account, redaction);
    if (result) {
        add_result(entry, *result, redaction);
        return entry;
    }
    entry.body["language"] = redaction.clean(account.language, 64);
    entry.body["status"] = "refused";
    entry.body["code"] = name_of(result.error().code);
    entry.personal["reason"] = redaction.clean(result.error().message);
    add_text(entry.personal, "conversation_id", account.conversation_id, redaction);
    add_text(entry.personal, "session_id", account.session_id, redaction);
    return entry;
}

Entry entry_of(const execution::SecurityEvent& event, const Redaction& redaction) {
    Entry entry{.kind = "event"};
    entry.body = {{"event", redaction.clean(event.kind, 64)},
                  {"name", redaction.clean(event.name)},
                  {"severity", execution::name_of(event.severity)},
                  {"occurred", format_utc(event.time)}};
    add_text(entry.body, "execution_id", event.execution_id, redaction);
    entry.personal = {{"principal", redaction.clean(event.principal)},
                      {"text", redaction.clean(event.text)}};
    add_text(entry.personal, "conversation_id", event.conversation_id, redaction);
    json::array details;
    for (const auto& [name, value] : event.details) {
        if (details.size() == kMostItems) {
            break;
        }
        details.push_back(json::array{redaction.clean(name), redaction.clean(value)});
    }
    if (!details.empty()) {
        entry.personal["details"] = std::move(details);
    }
    return entry;
}

Entry entry_of(const Decision& decision, const Redaction& redaction) {
    Entry entry{.kind = decision.kind};
    entry.body["decision"] = redaction.clean(decision.what);
    entry.body["status"] = decision.outcome;
    if (decision.status != 0) {
        entry.body["http_status"] = decision.status;
    }
    if (decision.left_out > 0) {
        entry.body["left_out"] = decision.left_out;
    }
    entry.personal["principal"] = redaction.clean(decision.principal);
    add_text(entry.personal, "target", decision.target, redaction);
    add_text(entry.personal, "client", decision.client, redaction);
    add_text(entry.personal, "address", decision.address, redaction);
    add_text(entry.personal, "text", decision.text, redaction);
    return entry;
}

}  // namespace belljar::audit
