#include "engine/alarm.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/denial_events.h"

namespace belljar::engine {
namespace {

using alerts::Alert;
using execution::Denial;
using execution::SecurityEvent;
using execution::Severity;

constexpr std::string_view kAlert = "alert";        // the kind of what others are told
constexpr std::string_view kOwnRefusal = "alerts";  // marks errors that are no news to us

alerts::WallTime now() { return std::chrono::system_clock::now(); }

std::unexpected<Error> refuse_quarantined() {
    return fail(Error{.code = ErrorCode::Denied,
                      .message = "this conversation is in quarantine: nobody may use it until an "
                                 "operator has looked at it",
                      .where = std::string(kOwnRefusal)});
}

bool is_kernels(const Denial& denial) { return denial.source == execution::DenialSource::Kernel; }

std::optional<SecurityEvent> event_of(const Error& error) {
    if (error.where == kOwnRefusal) {
        return std::nullopt;
    }
    if (error.code == ErrorCode::QuotaReached) {
        return SecurityEvent{.kind = "quota", .name = "reached"};
    }
    if (error.code == ErrorCode::Denied) {
        return SecurityEvent{.kind = "denial", .name = "policy.refused"};
    }
    return std::nullopt;
}

std::string for_seconds(Duration time) {
    return fmt::format("{} seconds", std::chrono::ceil<std::chrono::seconds>(time).count());
}

}  // namespace

Alarm::Alarm(alerts::Rules rules, alerts::Holds holds, const Log& log)
    : tower_(std::move(rules)), holds_(std::move(holds)), log_(log) {}

void Alarm::see_grade(const std::string& grade) {
    const std::string before = std::exchange(holds_.grade, grade);
    if (before == grade) {
        return;
    }
    keep();
    if (!before.empty()) {
        notice(
            {.kind = "grade",
             .name = "changed",
             .severity = Severity::High,
             .time = now(),
             .text = fmt::format("the isolation grade of this server was {} when it last ran and "
                                 "is {} now",
                                 before, grade),
             .details = {{"before", before}, {"now", grade}}});
    }
}

Result<void> Alarm::admit(const execution::RunRequest& request) {
    const alerts::WallTime time = now();
    if (const std::optional<alerts::Block> block = holds_.block_of(request.principal, time)) {
        const auto left = std::chrono::ceil<std::chrono::seconds>(block->until - time);
        return fail(Error{.code = ErrorCode::Denied,
                          .message = fmt::format("you may run nothing for another {} seconds: an "
                                                 "operator or a rule has blocked you",
                                                 left.count()),
                          .where = std::string(kOwnRefusal),
                          .retry_after = left});
    }
    if (request.conversation_id &&
        holds_.is_quarantined(request.principal, *request.conversation_id)) {
        return refuse_quarantined();
    }
    return {};
}

// What a run without a session was refused is known already, since the moment it tried.
Result<void> Alarm::record(const execution::RunAccount& account,
                           const Result<execution::RunResult>& result) {
    if (!result) {
        if (std::optional<SecurityEvent> event = event_of(result.error())) {
            event->time = now();
            event->principal = account.principal;
            event->conversation_id = account.conversation_id;
            event->text = "a run was refused";
            notice(*event);
        }
        return {};
    }
    for (const Denial& denial : result->denials) {
        const bool told = !result->session && denial.rule != "seccomp.kill";
        if (is_kernels(denial) && !told) {
            notice(engine::event_of(denial, {.principal = account.principal,
                                             .execution_id = result->execution_id,
                                             .conversation_id = account.conversation_id}));
        }
    }
    return {};
}

void Alarm::notice(const SecurityEvent& event) {
    if (event.kind == kAlert) {
        return;  // our own word
    }
    for (Alert& alert : tower_.take(event, Clock::now())) {
        raise(std::move(alert));
    }
}

void Alarm::raise(Alert alert) {
    respond(alert);
    const std::string text = to_text(alerts::to_json(alert));
    log_.warning("alert", {{"alert_id", alert.id},
                           {"rule", alert.rule.name},
                           {"severity", execution::name_of(alert.rule.severity)},
                           {"principal", alert.principal.value_or("")},
                           {"events", static_cast<std::int64_t>(alert.events)},
                           {"text", alert.event.text}});
    if (hands_.show) {
        hands_.show(alert.principal, text);
    }
    if (hands_.post) {
        hands_.post(text);
    }
    if (hands_.notice) {
        SecurityEvent told = alert.event;
        told.kind = kAlert;
        told.name = alert.rule.name;
        told.severity = alert.rule.severity;
        told.details["alert_id"] = alert.id;
        told.details["events"] = std::to_string(alert.events);
        hands_.notice(told);
    }
    tower_.remember(std::move(alert));
}

void Alarm::respond(Alert& alert) {
    const alerts::Rule& rule = alert.rule;
    const std::string principal = alert.principal.value_or("");
    const std::string reason = fmt::format("rule \"{}\": {}", rule.name, alert.event.text);
    // First of all, so that nothing new begins while the rest is done.
    if (rule.block > Duration{}) {
        const auto time = std::chrono::ceil<std::chrono::seconds>(rule.block);
        set_block(
            {.principal = principal, .since = now(), .until = now() + time, .reason = reason});
        alert.done.push_back(fmt::format("blocked the principal for {}", for_seconds(rule.block)));
    }
    if (rule.quarantine && alert.event.conversation_id) {
        const Result<void> held = set_quarantine({.principal = principal,
                                                  .conversation_id = *alert.event.conversation_id,
                                                  .since = now(),
                                                  .reason = reason});
        alert.done.push_back(held ? "quarantined the conversation" : held.error().message);
    }
    if (rule.kill == alerts::Kill::All && hands_.end_all) {
        hands_.end_all(principal);
        alert.done.emplace_back("ended all runs and sessions of the principal");
    } else if (rule.kill == alerts::Kill::Run && alert.event.execution_id && hands_.end_run) {
        hands_.end_run(*alert.event.execution_id);
        alert.done.emplace_back("ended the run");
    }
}

void Alarm::set_block(alerts::Block block) {
    holds_.block(std::move(block));
    keep();
}

Result<void> Alarm::set_quarantine(alerts::Quarantine quarantine) {
    const std::string principal = quarantine.principal;
    const std::string conversation = quarantine.conversation_id;
    BJ_TRY_VOID(holds_.quarantine(std::move(quarantine)));
    keep();
    if (hands_.end_sessions) {
        hands_.end_sessions(principal, conversation);
    }
    return {};
}

void Alarm::block(const std::string& principal, Duration time, std::string reason,
                  const std::string& by) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(time);
    set_block({.principal = principal,
               .since = now(),
               .until = now() + seconds,
               .reason = std::move(reason)});
    tell("blocked", principal,
         fmt::format("\"{}\" was blocked for {} by \"{}\"", principal, for_seconds(time), by));
}

Result<void> Alarm::lift_block(const std::string& principal, const std::string& by) {
    BJ_TRY_VOID(holds_.lift_block(principal, now()));
    keep();
    tell("unblocked", principal,
         fmt::format("the block of \"{}\" was lifted by \"{}\"", principal, by));
    return {};
}

Result<void> Alarm::quarantine(const execution::FileName& conversation, std::string reason,
                               const std::string& by) {
    BJ_TRY_VOID(set_quarantine({.principal = conversation.principal,
                                .conversation_id = conversation.conversation_id,
                                .since = now(),
                                .reason = std::move(reason)}));
    tell("quarantined", conversation.principal,
         fmt::format("conversation \"{}\" was put into quarantine by \"{}\"",
                     conversation.conversation_id, by));
    return {};
}

Result<void> Alarm::lift_quarantine(const execution::FileName& conversation,
                                    const std::string& by) {
    BJ_TRY_VOID(holds_.lift_quarantine(conversation.principal, conversation.conversation_id));
    keep();
    tell("released", conversation.principal,
         fmt::format("conversation \"{}\" was let out of quarantine by \"{}\"",
                     conversation.conversation_id, by));
    return {};
}

KeptConversations::Guard Alarm::guard() const {
    return {.check = [this](const execution::FileName& name) -> Result<void> {
                return holds_.is_quarantined(name.principal, name.conversation_id)
                           ? refuse_quarantined()
                           : Result<void>{};
            },
            .guarded =
                [this] {
                    std::vector<execution::FileName> names;
                    for (const alerts::Quarantine& one : holds_.quarantines()) {
                        names.push_back(
                            {.principal = one.principal, .conversation_id = one.conversation_id});
                    }
                    return names;
                }};
}

void Alarm::keep() const {
    if (hands_.keep) {
        hands_.keep(holds_.to_text(now()));
    }
}

void Alarm::tell(std::string name, const std::string& principal, std::string text) const {
    log_.warning("alerts", {{"what", name}, {"principal", principal}, {"text", text}});
    if (hands_.notice) {
        hands_.notice({.kind = std::string(kAlert),
                       .name = std::move(name),
                       .severity = Severity::Medium,
                       .time = now(),
                       .principal = principal,
                       .text = std::move(text)});
    }
}

}  // namespace belljar::engine
