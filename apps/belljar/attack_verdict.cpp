#include "attack_verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/object.hpp>

#include "base/json.h"
#include "outcome/result_json.h"

namespace belljar::apps {
namespace {

using execution::RunResult;
using execution::Status;

constexpr std::size_t kLongestSeen = 300;

std::string shorten(std::string text) {
    if (text.size() > kLongestSeen) {
        text.resize(kLongestSeen);
        text += "...";
    }
    return text;
}

// What an attack says of itself: {"held": true, "seen": "..."}.
struct GuestWord {
    bool held = false;
    std::string seen{};
};

GuestWord read_word(const RunResult& run) {
    const Result<json::value> value = parse_json(run.result_json.value_or("null"));
    if (!value || !value->is_object()) {
        return {.seen = "it did not say what it found"};
    }
    const json::value* held = value->get_object().if_contains("held");
    const json::value* seen = value->get_object().if_contains("seen");
    return {.held = held != nullptr && held->is_bool() && held->get_bool(),
            .seen = seen != nullptr && seen->is_string() ? std::string(seen->get_string()) : ""};
}

// How a run ended, in a few words.
std::string describe_end(const RunResult& run) {
    std::string text = fmt::format("status {}", execution::name_of(run.status));
    if (run.signal) {
        text += fmt::format(", signal {}", *run.signal);
    } else if (run.exit_code.value_or(0) != 0) {
        text += fmt::format(", exit code {}", *run.exit_code);
    }
    if (run.error) {
        text += fmt::format(" ({}: {})", run.error->type, run.error->message);
    }
    return text;
}

bool uses_word(const Attack& attack, const RunResult& run) {
    return attack.conduct.word == Word::Needed && run.status == Status::Ok;
}

std::string describe(const Attack& attack, const Trial& trial) {
    std::vector<std::string> parts;
    for (const Result<RunResult>& run : trial.runs) {
        std::string part = !run                      ? run.error().message
                           : uses_word(attack, *run) ? read_word(*run).seen
                                                     : describe_end(*run);
        if (std::ranges::find(parts, part) == parts.end()) {
            parts.push_back(std::move(part));
        }
    }
    return fmt::format("{}", fmt::join(parts, "; "));
}

std::string fault_of_run(const Attack& attack, const Result<RunResult>& run) {
    if (!run) {
        const bool refused = attack.conduct.upload == Upload::Hostile &&
                             run.error().code == ErrorCode::InvalidArgument;
        return refused ? "" : fmt::format("could not be tried: {}", run.error().describe());
    }
    if (!attack.conduct.statuses.contains(run->status)) {
        return "ended with " + describe_end(*run);
    }
    if (!uses_word(attack, *run)) {
        return "";
    }
    const GuestWord word = read_word(*run);
    if (word.held) {
        return "";
    }
    return word.seen.empty() ? "it did not say what got through" : word.seen;
}

// The first layer that the attack is known to need and that is missing.
std::string missing_layer(const Attack& attack, const std::vector<std::string>& missing) {
    for (const std::string& layer : attack.needs) {
        if (std::ranges::find(missing, layer) != missing.end()) {
            return layer;
        }
    }
    return "";
}

}  // namespace

std::vector<std::string> find_faults(const Attack& attack, const Trial& trial) {
    std::vector<std::string> faults;
    bool complete = !trial.runs.empty();
    for (const Result<RunResult>& run : trial.runs) {
        if (std::string fault = fault_of_run(attack, run); !fault.empty()) {
            faults.push_back(std::move(fault));
        }
        complete = complete && run.has_value();
    }
    if (trial.runs.empty()) {
        faults.emplace_back("it was not tried");
    }
    if (attack.conduct.judge != nullptr && complete) {
        if (std::string fault = attack.conduct.judge(trial); !fault.empty()) {
            faults.push_back(std::move(fault));
        }
    }
    return faults;
}

std::string everything_said(const Trial& trial) {
    std::string said;
    for (const Result<RunResult>& run : trial.runs) {
        said += run ? to_text(outcome::to_json(*run)) : run.error().describe();
    }
    return said;
}

Finding conclude(const Attack& attack, const Trial& trial, const Evidence& evidence,
                 const std::vector<std::string>& missing) {
    if (evidence.faults.empty() && evidence.damage.empty()) {
        return {
            .attack = &attack, .verdict = Verdict::Held, .seen = shorten(describe(attack, trial))};
    }
    std::vector<std::string> all = evidence.damage;
    all.insert(all.end(), evidence.faults.begin(), evidence.faults.end());
    std::string seen = shorten(fmt::format("{}", fmt::join(all, "; ")));
    const std::string layer = missing_layer(attack, missing);
    if (layer.empty() || !evidence.damage.empty()) {
        return {.attack = &attack, .verdict = Verdict::Broken, .seen = std::move(seen)};
    }
    return {.attack = &attack,
            .verdict = Verdict::KnownGap,
            .seen = fmt::format("known gap: {} missing; {}", layer == "root" ? "root mode" : layer,
                                seen)};
}

}  // namespace belljar::apps
