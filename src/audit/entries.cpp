#include "audit/entries.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/utc_time.h"

namespace belljar::audit {
namespace {

using execution::RunAccount;
using execution::RunResult;

constexpr std::size_t kMostItems = 256;  // of a list
constexpr std::size_t kLongestName = 1024;
constexpr std::size_t kUsualSize = 1024;  // of a part of a record of a run
constexpr std::size_t kLongestCode = std::size_t{16} * 1024 * 1024;

std::int64_t milliseconds(Duration duration) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

std::int64_t microseconds(Duration duration) {
    return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}

void add_names(JsonText& object, std::string_view name, const std::vector<std::string>& list,
               const Redaction& redaction) {
    object.begin_array(name);
    for (std::size_t index = 0; index < std::min(list.size(), kMostItems); ++index) {
        object.add_item(redaction.clean(list[index], kLongestName));
    }
    object.end_array();
}

void add_text(JsonText& object, std::string_view name, const std::string& text,
              const Redaction& redaction) {
    if (!text.empty()) {
        object.add(name, redaction.clean(text));
    }
}

void add_text(JsonText& object, std::string_view name, const std::optional<std::string>& text,
              const Redaction& redaction) {
    if (text) {
        object.add(name, redaction.clean(*text));
    }
}

void add_number(JsonText& object, std::string_view name, const std::optional<int>& number) {
    if (number) {
        object.add(name, *number);
    } else {
        object.add_null(name);
    }
}

void add_limits(JsonText& body, const execution::Limits& limits) {
    body.begin_object("limits");
    body.add("timeout_ms", milliseconds(limits.timeout));
    body.add("memory_bytes", limits.memory.count);
    body.add("cpu", limits.cpu);
    body.add("processes", limits.processes);
    body.add("output_bytes", limits.output.count);
    body.add("tmp_bytes", limits.tmp.count);
    body.add("workspace_bytes", limits.workspace.count);
    body.end_object();
}

void add_usage(JsonText& body, const RunResult& result) {
    body.begin_object("usage");
    body.add("wall_us", microseconds(result.usage.wall));
    body.add("cpu_us", microseconds(result.usage.cpu));
    body.add("memory_peak_bytes", result.usage.memory_peak_bytes);
    body.add("disk_written_bytes", result.usage.disk_written_bytes);
    body.add("processes_peak", result.usage.processes_peak);
    body.add("stdout_bytes", result.stdout_stream.bytes);
    body.add("stderr_bytes", result.stderr_stream.bytes);
    body.end_object();
}

void add_isolation(JsonText& body, const execution::Isolation& isolation) {
    body.begin_object("isolation");
    body.add("grade", isolation.grade);
    body.add("tier", isolation.tier);
    body.add("mode", isolation.mode);
    body.begin_array("missing");
    for (const std::string& missing : isolation.missing) {
        body.add_item(missing);
    }
    body.end_array();
    body.end_object();
}

void add_findings(JsonText& body, const RunResult& result) {
    if (result.findings.empty()) {
        return;
    }
    body.begin_array("findings");
    for (std::size_t index = 0; index < std::min(result.findings.size(), kMostItems); ++index) {
        const execution::Finding& finding = result.findings[index];
        body.begin_item();
        body.add("rule", finding.rule);
        body.add("severity", execution::name_of(finding.severity));
        body.add("action", execution::name_of(finding.action));
        body.add("line", finding.line);
        body.end_item();
    }
    body.end_array();
}

void add_masked(JsonText& body, const RunResult& result) {
    if (result.masked.empty()) {
        return;
    }
    body.begin_array("masked");
    for (const auto& [type, count] : result.masked) {
        body.begin_item();
        body.add("type", type);
        body.add("count", count);
        body.end_item();
    }
    body.end_array();
}

// What was refused inside: the rule for everybody, the words for those who may know the person.
void add_denials(Entry& entry, const RunResult& result, const Redaction& redaction) {
    const std::size_t count = std::min(result.denials.size(), kMostItems);
    entry.body.begin_array("denials");
    for (std::size_t index = 0; index < count; ++index) {
        const execution::Denial& denial = result.denials[index];
        entry.body.begin_item();
        entry.body.add("rule", denial.rule);
        entry.body.add("source", execution::name_of(denial.source));
        entry.body.end_item();
    }
    entry.body.end_array();
    if (count == 0) {
        return;
    }
    entry.personal.begin_array("denials");
    for (std::size_t index = 0; index < count; ++index) {
        entry.personal.add_item(redaction.clean(result.denials[index].what));
    }
    entry.personal.end_array();
}

void add_produced(JsonText& files, const RunResult& result, const Redaction& redaction) {
    files.begin_array("produced");
    for (std::size_t index = 0; index < std::min(result.files.size(), kMostItems); ++index) {
        const execution::ProducedFile& file = result.files[index];
        files.begin_item();
        files.add("name", redaction.clean(file.name, kLongestName));
        files.add("change", file.change);
        files.add("size", file.size);
        files.add("sha256", file.sha256);
        files.end_item();
    }
    files.end_array();
}

void add_files(Entry& entry, const RunResult& result, const Redaction& redaction) {
    const execution::FileAccess& access = result.file_access;
    entry.body.begin_object("files");
    entry.body.add("read", access.read.size());
    entry.body.add("written", access.written.size());
    entry.body.add("deleted", access.deleted.size());
    entry.body.add("more", access.more);
    entry.body.add("complete", access.complete);
    entry.body.add("produced", result.files.size());
    entry.body.end_object();
    if (access.read.empty() && access.written.empty() && access.deleted.empty() &&
        result.files.empty()) {
        return;
    }
    entry.personal.begin_object("files");
    const auto add = [&](std::string_view name, const std::vector<std::string>& list) {
        if (!list.empty()) {
            add_names(entry.personal, name, list, redaction);
        }
    };
    add("read", access.read);
    add("written", access.written);
    add("deleted", access.deleted);
    if (!result.files.empty()) {
        add_produced(entry.personal, result, redaction);
    }
    entry.personal.end_object();
}

void add_network(Entry& entry, const RunResult& result, const Redaction& redaction) {
    const execution::NetworkAttempts& attempts = result.network_attempts;
    entry.body.begin_object("network");
    entry.body.add("without_route", attempts.without_route);
    entry.body.add("connections", attempts.connections);
    entry.body.add("datagrams", attempts.datagrams);
    entry.body.end_object();
    if (!attempts.places.empty()) {
        add_names(entry.personal, "network_places", attempts.places, redaction);
    }
}

void add_account(Entry& entry, const RunAccount& account, const Redaction& redaction) {
    JsonText& personal = entry.personal;
    personal.add("principal", redaction.clean(account.principal));
    add_text(personal, "client", account.client, redaction);
    add_text(personal, "address", account.address, redaction);
    add_text(personal, "label", account.label, redaction);
    add_text(personal, "trace_id", account.trace, redaction);
    add_text(personal, "approved_by", account.approved_by, redaction);
    personal.add("code_sha256", account.code_sha256);
    if (account.code) {
        personal.add("code", redaction.clean(*account.code, kLongestCode));
    }
    JsonText& body = entry.body;
    body.add("asked", format_utc(account.asked));
    body.add("protocol", execution::name_of(account.protocol));
    add_text(body, "tool", account.tool, redaction);
    add_text(body, "asked_profile", account.profile, redaction);
    body.add("code_bytes", account.code_bytes);
    body.add("approved", account.approved_by.has_value());
    const auto taken = std::chrono::system_clock::now() - account.asked;
    body.add("duration_us", std::chrono::duration_cast<std::chrono::microseconds>(taken).count());
}

void add_result(Entry& entry, const RunResult& result, const Redaction& redaction) {
    JsonText& body = entry.body;
    body.add("execution_id", redaction.clean(result.execution_id));
    body.add("language", result.language);
    body.add("runner", result.runner);
    body.add("status", execution::name_of(result.status));
    add_number(body, "exit_code", result.exit_code);
    add_number(body, "signal", result.signal);
    body.add("profile", result.profile);
    body.add("policy_version", result.policy_version);
    body.add("tools_digest", result.tools_digest);
    add_limits(body, result.limits);
    add_usage(body, result);
    add_isolation(body, result.isolation);
    add_findings(body, result);
    add_masked(body, result);
    add_denials(entry, result, redaction);
    add_files(entry, result, redaction);
    add_network(entry, result, redaction);
    add_text(entry.personal, "conversation_id", result.conversation_id, redaction);
    add_text(entry.personal, "session_id", result.session_id, redaction);
}

void add_details(JsonText& personal, const execution::SecurityEvent& event,
                 const Redaction& redaction) {
    personal.begin_array("details");
    std::size_t left = kMostItems;
    for (const auto& [name, value] : event.details) {
        if (left-- == 0) {
            break;
        }
        personal.begin_list();
        personal.add_item(redaction.clean(name));
        personal.add_item(redaction.clean(value));
        personal.end_array();
    }
    personal.end_array();
}

}  // namespace

Entry entry_of(const RunAccount& account, const Result<RunResult>& result,
               const Redaction& redaction) {
    Entry entry{.kind = result ? "run" : "refusal"};
    entry.body.reserve(kUsualSize);
    entry.personal.reserve(kUsualSize);
    add_account(entry, account, redaction);
    if (result) {
        add_result(entry, *result, redaction);
        return entry;
    }
    entry.body.add("language", redaction.clean(account.language, 64));
    entry.body.add("status", "refused");
    entry.body.add("code", name_of(result.error().code));
    entry.personal.add("reason", redaction.clean(result.error().message));
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
    if (!event.details.empty()) {
        add_details(entry.personal, event, redaction);
    }
    return entry;
}

Entry entry_of(const Decision& decision, const Redaction& redaction) {
    Entry entry{.kind = decision.kind};
    entry.body.add("decision", redaction.clean(decision.what));
    entry.body.add("status", decision.outcome);
    if (decision.status != 0) {
        entry.body.add("http_status", decision.status);
    }
    if (decision.left_out > 0) {
        entry.body.add("left_out", decision.left_out);
    }
    entry.personal.add("principal", redaction.clean(decision.principal));
    add_text(entry.personal, "target", decision.target, redaction);
    add_text(entry.personal, "client", decision.client, redaction);
    add_text(entry.personal, "address", decision.address, redaction);
    add_text(entry.personal, "text", decision.text, redaction);
    return entry;
}

}  // namespace belljar::audit
