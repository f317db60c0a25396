#include "policy/narrower.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/choice.h"
#include "config/duration.h"
#include "policy/scan_rules.h"

namespace belljar::policy {
namespace {

using Reason = std::optional<std::string>;

Reason wider_imports(const Profile& wanted, const Profile& held) {
    if (wanted.python.reach == Imports::Reach::Everything &&
        held.python.reach == Imports::Reach::Listed) {
        return "it allows importing every module of Python";
    }
    if (wanted.javascript.reach == Imports::Reach::Everything &&
        held.javascript.reach == Imports::Reach::Listed) {
        return "it allows importing every module of JavaScript";
    }
    for (const std::string& module : wanted.python.modules) {
        if (!allows_python(held, module)) {
            return fmt::format("it allows importing {}", module);
        }
    }
    for (const std::string& module : wanted.javascript.modules) {
        if (!allows_javascript(held, module)) {
            return fmt::format("it allows importing {}", module);
        }
    }
    return std::nullopt;
}

Reason wider_names(std::string_view what, const Names& wanted, const Names& held) {
    if (!held) {
        return std::nullopt;
    }
    if (!wanted) {
        return fmt::format("it allows every {}", what);
    }
    for (const std::string& name : *wanted) {
        if (!std::ranges::binary_search(*held, name)) {
            return fmt::format("it allows the {} {}", what, name);
        }
    }
    return std::nullopt;
}

template <typename T>
bool is_more(const std::optional<T>& wanted, const std::optional<T>& held) {
    return held && (!wanted || *wanted > *held);
}

Reason wider_limits(const LimitCaps& wanted, const LimitCaps& held) {
    const auto reason = [](std::string_view name) {
        return fmt::format("its limit {} is higher", name);
    };
    return is_more(wanted.timeout, held.timeout)       ? Reason(reason("timeout"))
           : is_more(wanted.memory, held.memory)       ? Reason(reason("memory"))
           : is_more(wanted.cpu, held.cpu)             ? Reason(reason("cpu"))
           : is_more(wanted.processes, held.processes) ? Reason(reason("processes"))
           : is_more(wanted.output, held.output)       ? Reason(reason("output"))
           : is_more(wanted.tmp, held.tmp)             ? Reason(reason("tmp"))
                                                       : std::nullopt;
}

Reason laxer_scan(const Profile& wanted, const Profile& held) {
    for (const ScanRule& rule : scan_rules()) {
        if (action_for(wanted, rule.name, rule.severity) <
            action_for(held, rule.name, rule.severity)) {
            return fmt::format("it answers findings of {} less strictly", rule.name);
        }
    }
    return std::nullopt;
}

Reason laxer_privacy(const Profile& wanted, const Profile& held) {
    for (const std::string& type : held.privacy.mask) {
        if (!std::ranges::binary_search(wanted.privacy.mask, type)) {
            return fmt::format("it does not mask {}", type);
        }
    }
    return std::nullopt;
}

}  // namespace

Reason why_wider(const Profile& wanted, const Profile& held) {
    if (Reason reason = wider_imports(wanted, held)) {
        return reason;
    }
    if (Reason reason = wider_names("language", wanted.languages, held.languages)) {
        return reason;
    }
    if (wanted.network == Network::Allowed && held.network == Network::Denied) {
        return "it allows a network";
    }
    if (Reason reason = wider_limits(wanted.limits, held.limits)) {
        return reason;
    }
    if (Reason reason = wider_names("tool set", wanted.tool_sets, held.tool_sets)) {
        return reason;
    }
    if (wanted.isolation < held.isolation) {
        return fmt::format("it takes less than {} isolation", config::word_for(held.isolation));
    }
    if (Reason reason = laxer_scan(wanted, held)) {
        return reason;
    }
    return laxer_privacy(wanted, held);
}

}  // namespace belljar::policy
