#include "policy/scan_rules.h"

#include <algorithm>
#include <array>

namespace belljar::policy {
namespace {

using enum execution::Severity;

constexpr auto kRules = std::to_array<ScanRule>({
    {"code.builtin", Medium, "Call of '{}' is one that this profile warns of"},
    {"code.deserialize", High, "'{}' can run code that is hidden in data"},
    {"code.dynamic_import", Medium, "'{}' imports a module whose name is computed"},
    {"code.eval", Medium, "Call of '{}' hides what the program does"},
    {"code.hidden_text", High, "Characters that cannot be seen change how the text reads"},
    {"code.internals", High, "Use of '{}' reaches into the interpreter"},
    {"code.native", High, "'{}' calls machine code past the interpreter"},
    {"code.obfuscated", High, "Text is decoded and run, or written so that nobody can read it"},
    {"code.unreadable", High, "The program cannot be read, so nobody knows what is in it"},
    {"files.destructive", High, "'{}' removes whole directories or system files"},
    {"files.secrets", High, "The path of a file with secrets or accounts: {}"},
    {"files.traversal", Medium, "A path that climbs out of its directory"},
    {"files.write", Low, "'{}' changes files"},
    {"network.metadata", Critical, "The address of a cloud's metadata service"},
    {"network.mining", High, "The name of a cryptocurrency miner or its protocol"},
    {"network.plain_http", Low, "A request without encryption"},
    {"network.request", Low, "'{}' speaks to another host"},
    {"network.reverse_shell", Critical, "A shell that is connected to another host"},
    {"network.socket", Medium, "'{}' opens a socket"},
    {"process.environment", Low, "'{}' reads the environment"},
    {"process.shell", Critical, "A shell command that destroys, or that runs what it downloads"},
    {"process.signal", Medium, "'{}' sends signals to processes"},
    {"process.spawn", High, "'{}' starts another program"},
    {"resource.endless_loop", Low, "A loop without an end"},
    {"resource.fork_bomb", Critical, "Processes that start processes without end"},
    {"resource.memory", Medium, "A value that would fill the memory"},
    {"sandbox.escape", Critical, "'{}' is used to break out of containers"},
    {"secret.in_code", High, "What looks like {} is written in the program"},
    {"text.prompt_injection", Medium, "Text that tries to give a model orders"},
});
static_assert(std::ranges::is_sorted(kRules, {}, &ScanRule::name));

}  // namespace

std::span<const ScanRule> scan_rules() { return kRules; }

const ScanRule* find_scan_rule(std::string_view name) {
    const auto* found = std::ranges::lower_bound(kRules, name, {}, &ScanRule::name);
    return found != kRules.end() && found->name == name ? &*found : nullptr;
}

std::string describe(const ScanRule& rule, std::string_view subject) {
    std::string text(rule.text);
    if (const std::size_t at = text.find("{}"); at != std::string::npos) {
        text.replace(at, 2, subject.empty() ? "something" : subject);
    }
    return text;
}

}  // namespace belljar::policy
