#include "alerts/rules_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "config/duration.h"
#include "config/toml_parser.h"
#include "config/toml_text.h"

namespace belljar::alerts {
namespace {

using execution::Severity;

constexpr std::size_t kMostRules = 64;
constexpr std::size_t kMostNames = 32;
constexpr std::size_t kLongestName = 64;
constexpr std::int64_t kMostEvents = 1000;
constexpr Duration kLongestTime = std::chrono::hours(24 * 366);
constexpr Duration kLongestWindow = std::chrono::hours(24);

constexpr auto kKinds = std::to_array<std::string_view>(
    {"denial", "escape", "scan", "tool", "quota", "grade", "policy", "audit", "access"});
constexpr auto kKeys = std::to_array<std::string_view>({"kinds", "names", "at_least", "count",
                                                        "window", "per", "cool_down", "severity",
                                                        "kill", "block", "quarantine", "enabled"});

bool is_rule_name(std::string_view name) {
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    return !name.empty() && name.size() <= kLongestName &&
           name.find_first_not_of(kLetters) == std::string_view::npos;
}

// One section, and how messages call it.
class Section {
   public:
    Section(const toml::table& table, std::string file, std::string rule)
        : table_(table), file_(std::move(file)), rule_(std::move(rule)) {}

    [[nodiscard]] std::unexpected<Error> refuse(std::string_view key, std::string_view what) const {
        const toml::node* node = table_.get(key);
        const auto line = (node == nullptr ? table_.source() : node->source()).begin.line;
        return fail(ErrorCode::InvalidArgument, fmt::format("{}, line {}: rule \"{}\": \"{}\" {}",
                                                            file_, line, rule_, key, what));
    }

    [[nodiscard]] Result<void> check_keys() const {
        for (const auto& [key, node] : table_) {
            if (std::ranges::find(kKeys, key.str()) == kKeys.end()) {
                return refuse(key.str(),
                              fmt::format("is not known; allowed are {}", fmt::join(kKeys, ", ")));
            }
        }
        return {};
    }

    // Each leaves the value as it is if the key is missing.
    [[nodiscard]] Result<void> texts(std::string_view key, std::vector<std::string>& value) const {
        const toml::node* node = table_.get(key);
        if (node == nullptr) {
            return {};
        }
        if (!node->is_array() || node->as_array()->size() > kMostNames) {
            return refuse(key, fmt::format("must be a list of at most {} texts", kMostNames));
        }
        value.clear();
        for (const toml::node& item : *node->as_array()) {
            const auto* text = item.as_string();
            if (text == nullptr || text->get().empty() || text->get().size() > kLongestName) {
                return refuse(key, fmt::format("must be a list of texts of at most {} characters",
                                               kLongestName));
            }
            value.push_back(text->get());
        }
        return {};
    }

    [[nodiscard]] Result<void> count(std::string_view key, std::uint32_t& value) const {
        const toml::node* node = table_.get(key);
        if (node == nullptr) {
            return {};
        }
        const std::int64_t number = node->is_integer() ? node->as_integer()->get() : 0;
        if (number < 1 || number > kMostEvents) {
            return refuse(key, fmt::format("must be a number from 1 to {}", kMostEvents));
        }
        value = static_cast<std::uint32_t>(number);
        return {};
    }

    [[nodiscard]] Result<void> time(std::string_view key, Duration longest, Duration& value) const {
        const toml::node* node = table_.get(key);
        if (node == nullptr) {
            return {};
        }
        const Result<Duration> time = node->is_string()
                                          ? config::parse_duration(node->as_string()->get())
                                          : Result<Duration>(fail(ErrorCode::InvalidArgument, ""));
        if (!time || *time < Duration{} || *time > longest) {
            return refuse(key,
                          fmt::format("must be a time such as \"30s\", \"5m\" or \"2h\", at "
                                      "most {} hours",
                                      std::chrono::floor<std::chrono::hours>(longest).count()));
        }
        value = *time;
        return {};
    }

    [[nodiscard]] Result<void> flag(std::string_view key, bool& value) const {
        const toml::node* node = table_.get(key);
        if (node == nullptr) {
            return {};
        }
        if (!node->is_boolean()) {
            return refuse(key, "must be true or false");
        }
        value = node->as_boolean()->get();
        return {};
    }

    template <typename T>
    struct Named {
        std::string_view name;
        T value;
    };

    template <typename T>
    [[nodiscard]] Result<void> choice(std::string_view key, std::span<const Named<T>> choices,
                                      T& value) const {
        const toml::node* node = table_.get(key);
        if (node == nullptr) {
            return {};
        }
        const std::string word = node->is_string() ? node->as_string()->get() : "";
        const auto found = std::ranges::find(choices, word, &Named<T>::name);
        if (found == choices.end()) {
            std::vector<std::string_view> names;
            for (const Named<T>& one : choices) {
                names.push_back(one.name);
            }
            return refuse(key, fmt::format("must be one of {}", fmt::join(names, ", ")));
        }
        value = found->value;
        return {};
    }

   private:
    const toml::table& table_;
    std::string file_;
    std::string rule_;
};

constexpr std::array<Section::Named<Severity>, 4> kSeverities{{{"low", Severity::Low},
                                                               {"medium", Severity::Medium},
                                                               {"high", Severity::High},
                                                               {"critical", Severity::Critical}}};
constexpr std::array<Section::Named<Per>, 3> kPer{
    {{"principal", Per::Principal}, {"address", Per::Address}, {"everybody", Per::Everybody}}};
constexpr std::array<Section::Named<Kill>, 3> kKills{
    {{"nothing", Kill::Nothing}, {"run", Kill::Run}, {"all", Kill::All}}};

template <typename T, std::size_t N>
std::span<const Section::Named<T>> all(const std::array<Section::Named<T>, N>& choices) {
    return choices;
}

Result<void> check_kinds(const Section& section, const Rule& rule) {
    const auto known = [](const std::string& kind) {
        return std::ranges::find(kKinds, kind) != kKinds.end();
    };
    if (rule.kinds.empty() || !std::ranges::all_of(rule.kinds, known)) {
        return section.refuse("kinds",
                              fmt::format("must name some of {}", fmt::join(kKinds, ", ")));
    }
    return {};
}

Result<void> read_rule(const Section& section, Rule& rule) {
    BJ_TRY_VOID(section.check_keys());
    BJ_TRY_VOID(section.texts("kinds", rule.kinds));
    BJ_TRY_VOID(section.texts("names", rule.names));
    BJ_TRY_VOID(section.choice("at_least", all(kSeverities), rule.at_least));
    BJ_TRY_VOID(section.count("count", rule.count));
    BJ_TRY_VOID(section.time("window", kLongestWindow, rule.window));
    BJ_TRY_VOID(section.choice("per", all(kPer), rule.per));
    BJ_TRY_VOID(section.time("cool_down", kLongestTime, rule.cool_down));
    BJ_TRY_VOID(section.choice("severity", all(kSeverities), rule.severity));
    BJ_TRY_VOID(section.choice("kill", all(kKills), rule.kill));
    BJ_TRY_VOID(section.time("block", kLongestTime, rule.block));
    BJ_TRY_VOID(section.flag("quarantine", rule.quarantine));
    BJ_TRY_VOID(section.flag("enabled", rule.enabled));
    BJ_TRY_VOID(check_kinds(section, rule));
    if (rule.window <= Duration{}) {
        return section.refuse("window", "must be longer than nothing");
    }
    if (rule.per != Per::Principal &&
        (rule.kill != Kill::Nothing || rule.block > Duration{} || rule.quarantine)) {
        return section.refuse("per",
                              "must be \"principal\" where the rule kills, blocks or "
                              "quarantines: who else would it be?");
    }
    return {};
}

Result<void> take_section(Rules& rules, std::string_view name, const toml::node& node,
                          const std::string& file_name) {
    const auto refuse = [&](std::string_view what) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{}, line {}: {}", file_name, node.source().begin.line, what));
    };
    if (!is_rule_name(name)) {
        return refuse("the name of a rule has letters, digits, \"_\" and \"-\", at most 64");
    }
    if (!node.is_table()) {
        return refuse(fmt::format("\"rules.{}\" must be a section", name));
    }
    auto rule = std::ranges::find(rules, name, &Rule::name);
    if (rule == rules.end()) {
        if (rules.size() >= kMostRules) {
            return refuse(fmt::format("there are more than {} rules", kMostRules));
        }
        rule = rules.insert(rules.end(), Rule{.name = std::string(name)});
    }
    return read_rule(Section(*node.as_table(), file_name, std::string(name)), *rule);
}

}  // namespace

Result<Rules> parse_rules(std::string_view text, const std::string& file_name) {
    BJ_TRY(const std::string prepared, config::prepare_toml(text, file_name));
    const toml::parse_result parsed = toml::parse(prepared);
    if (!parsed) {
        const toml::parse_error& error = parsed.error();
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{}, line {}: {}", file_name, error.source().begin.line,
                                error.description()));
    }
    Rules rules = usual_rules();
    for (const auto& [key, node] : parsed.table()) {
        if (key.str() != "rules" || !node.is_table()) {
            return fail(ErrorCode::InvalidArgument,
                        fmt::format("{}, line {}: only sections such as [rules.escapes] may stand "
                                    "here",
                                    file_name, node.source().begin.line));
        }
        for (const auto& [name, section] : *node.as_table()) {
            BJ_TRY_VOID(take_section(rules, name.str(), section, file_name));
        }
    }
    return rules;
}

}  // namespace belljar::alerts
