#include "engine/denial_events.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace belljar::engine {
namespace {

// Of the others, a network that is off, a raw socket, a clock or a core limit is what a careless
// program tries; seccomp.call is whatever has no name of its own.
constexpr auto kEscapes = std::to_array<std::string_view>(
    {"seccomp.namespace", "seccomp.mount", "seccomp.trace", "seccomp.keys", "seccomp.kernel",
     "seccomp.terminal", "seccomp.identity", "seccomp.device", "seccomp.kill"});

}  // namespace

bool is_escape(std::string_view rule) {
    return std::ranges::find(kEscapes, rule) != kEscapes.end();
}

execution::SecurityEvent event_of(const execution::Denial& denial, EventSubject subject) {
    const bool escape = is_escape(denial.rule);
    return {.kind = escape ? "escape" : "denial",
            .name = denial.rule,
            .severity = escape ? execution::Severity::High : execution::Severity::Low,
            .time = std::chrono::system_clock::now(),
            .principal = std::move(subject.principal),
            .execution_id = std::move(subject.execution_id),
            .conversation_id = std::move(subject.conversation_id),
            .text = "the program " + denial.what};
}

}  // namespace belljar::engine
