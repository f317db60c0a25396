#include "policy/policy_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "config/choice.h"
#include "config/duration.h"
#include "config/spelling.h"
#include "config/toml_parser.h"
#include "config/toml_text.h"
#include "policy/builtin_profiles.h"
#include "policy/policy_keys.h"
#include "policy/scan_rules.h"

namespace belljar::policy {
namespace {

constexpr std::size_t kMostProfiles = 256;
constexpr std::size_t kMostRules = 10'000;
constexpr std::size_t kMostListed = 4096;
constexpr std::size_t kLongestWord = 128;

constexpr std::string_view kWordLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

bool is_word(std::string_view text) {
    return !text.empty() && text.size() <= kLongestWord &&
           text.find_first_not_of(kWordLetters) == std::string_view::npos;
}

bool is_module(std::string_view text) {
    const auto fits = [](unsigned char letter) {
        return letter >= 0x80 || std::isalnum(letter) != 0 ||
               std::string_view("_.-@/:").contains(static_cast<char>(letter));
    };
    return !text.empty() && text.size() <= kLongestWord && text.front() != '.' &&
           std::ranges::all_of(text, fits);
}

// A table of a file and how messages call its keys. What is wrong goes to the problems, and what
// was asked for is then not there.
class Section {
   public:
    Section(const toml::table& table, std::string path, std::string file,
            config::Problems& problems)
        : table_(table), path_(std::move(path)), file_(std::move(file)), problems_(problems) {}

    void check_keys(std::span<const std::string_view> known) const {
        for (const auto& [key, node] : table_) {
            if (std::ranges::find(known, key.str()) != known.end()) {
                continue;
            }
            const auto meant = config::nearest(key.str(), known);
            refuse(key.str(),
                   fmt::format("is no key{}; allowed are {}",
                               meant ? fmt::format("; did you mean \"{}\"?", *meant) : "",
                               fmt::join(known, ", ")));
        }
    }

    [[nodiscard]] Place place_of(std::string_view key) const {
        for (const auto& [name, node] : table_) {
            if (name.str() == key) {
                return {.file = file_, .line = name.source().begin.line};
            }
        }
        return {.file = file_, .line = table_.source().begin.line};
    }

    void refuse(std::string_view key, std::string_view rule) const {
        if (problems_.full()) {
            problems_.add("");
            return;
        }
        problems_.add(fmt::format("{}: {} {}", place_of(key).describe(),
                                  config::quoted(path_ + std::string(key)), rule));
    }

    [[nodiscard]] std::optional<std::string> text(std::string_view key) const {
        const toml::node* node = table_.get(key);
        if (node == nullptr) {
            return std::nullopt;
        }
        if (node->as_string() == nullptr) {
            refuse(key, "must be a text in quotes");
            return std::nullopt;
        }
        return node->as_string()->get();
    }

    [[nodiscard]] std::optional<std::string> word(std::string_view key) const {
        std::optional<std::string> found = text(key);
        if (found && !is_word(*found)) {
            refuse(key, "must be a name of letters, digits and _ . -");
            return std::nullopt;
        }
        return found;
    }

    // What a text means, by a function that knows; `allowed` ends "must be ...".
    template <typename Parse>
    auto parsed(std::string_view key, std::string_view allowed, Parse parse) const
        -> decltype(parse(std::string())) {
        const std::optional<std::string> found = text(key);
        if (!found) {
            return std::nullopt;
        }
        auto meaning = parse(*found);
        if (!meaning) {
            refuse(key, fmt::format("must be {}, not {}", allowed, config::quoted(*found)));
        }
        return meaning;
    }

    [[nodiscard]] std::optional<double> number(std::string_view key) const {
        const toml::node* node = table_.get(key);
        if (node == nullptr) {
            return std::nullopt;
        }
        const std::optional<double> found = node->value<double>();
        if (!found || !node->is_number() || !std::isfinite(*found) || *found <= 0) {
            refuse(key, "must be a number greater than 0");
            return std::nullopt;
        }
        return found;
    }

    template <typename Test>
    [[nodiscard]] std::optional<std::vector<std::string>> list(std::string_view key,
                                                               std::string_view rule,
                                                               Test test) const {
        const toml::node* node = table_.get(key);
        if (node == nullptr) {
            return std::nullopt;
        }
        if (node->as_array() == nullptr || node->as_array()->size() > kMostListed) {
            refuse(key, fmt::format("must be a list of {}", rule));
            return std::nullopt;
        }
        std::vector<std::string> items;
        for (const toml::node& item : *node->as_array()) {
            const toml::value<std::string>* name = item.as_string();
            if (name == nullptr || !test(name->get())) {
                refuse(key,
                       fmt::format("must be a list of {}{}", rule,
                                   name == nullptr
                                       ? ""
                                       : fmt::format(", not {}", config::quoted(name->get()))));
                return std::nullopt;
            }
            items.push_back(name->get());
        }
        std::ranges::sort(items);
        const auto repeated = std::ranges::unique(items);
        items.erase(repeated.begin(), repeated.end());
        return items;
    }

    // Names, or ["*"] for all.
    [[nodiscard]] std::optional<Names> names(std::string_view key) const {
        const auto found = list(key, "names, or [\"*\"] for all",
                                [](std::string_view name) { return name == "*" || is_word(name); });
        if (!found) {
            return std::nullopt;
        }
        const bool all = std::ranges::find(*found, "*") != found->end();
        return all ? Names() : Names(*found);
    }

    // The tables in it, whose names are the file's own.
    template <typename Visit>
    void each(std::string_view key, std::size_t most, Visit visit) const {
        const std::optional<Section> inner = section(key);
        if (!inner) {
            return;
        }
        if (inner->table_.size() > most) {
            refuse(key, fmt::format("has more than {} entries", most));
            return;
        }
        for (const auto& [name, node] : inner->table_) {
            if (const toml::table* table = node.as_table()) {
                visit(std::string(name.str()),
                      Section(*table, fmt::format("{}{}.{}.", path_, key, name.str()), file_,
                              problems_),
                      Place{.file = file_, .line = name.source().begin.line});
            } else {
                inner->refuse(name.str(), "must be a table");
            }
        }
    }

    [[nodiscard]] std::optional<Section> section(std::string_view key) const {
        const toml::node* node = table_.get(key);
        if (node == nullptr) {
            return std::nullopt;
        }
        if (node->as_table() == nullptr) {
            refuse(key, "must be a table");
            return std::nullopt;
        }
        return Section(*node->as_table(), fmt::format("{}{}.", path_, key), file_, problems_);
    }

    [[nodiscard]] const toml::table& table() const { return table_; }
    [[nodiscard]] config::Problems& problems() const { return problems_; }

   private:
    const toml::table& table_;
    std::string path_;
    std::string file_;
    config::Problems& problems_;
};

constexpr std::string_view kModules = "module names, or [\"*\"] for all";

ImportsDraft read_imports(const Section& section, const std::string& language) {
    ImportsDraft draft;
    const auto fits = [](std::string_view name) { return name == "*" || is_module(name); };
    if (const auto instead = section.list(language, kModules, fits)) {
        const bool all = std::ranges::find(*instead, "*") != instead->end();
        draft.instead =
            all ? Imports{} : Imports{.reach = Imports::Reach::Listed, .modules = *instead};
    }
    draft.add = section.list(language + "_add", "module names", is_module)
                    .value_or(std::vector<std::string>());
    draft.remove = section.list(language + "_remove", "module names", is_module)
                       .value_or(std::vector<std::string>());
    return draft;
}

template <typename T>
std::optional<T> optional_of(const Result<T>& result) {
    return result ? std::optional<T>(*result) : std::nullopt;
}

std::optional<Bytes> size_at(const Section& section, std::string_view key) {
    return section.parsed(key, "a size such as \"256m\"", [](const std::string& text) {
        const std::optional<Bytes> size = optional_of(parse_bytes(text));
        return size && size->count > 0 ? size : std::nullopt;
    });
}

void read_limits(const Section& section, ProfileDraft& draft) {
    section.check_keys(kLimitKeys);
    draft.limits.timeout =
        section.parsed("timeout", "a time such as \"10s\"", [](const std::string& text) {
            const std::optional<Duration> time = optional_of(config::parse_duration(text));
            return time && *time >= std::chrono::milliseconds(1) ? time : std::nullopt;
        });
    draft.limits.memory = size_at(section, "memory");
    draft.limits.cpu = section.number("cpu");
    if (const std::optional<double> count = section.number("processes")) {
        if (*count != std::floor(*count) || *count > 32'768) {
            section.refuse("processes", "must be a whole number up to 32768");
        } else {
            draft.limits.processes = static_cast<std::uint32_t>(*count);
        }
    }
    draft.limits.output = size_at(section, "output");
    draft.limits.tmp = size_at(section, "tmp");
    for (const std::string_view key : kLimitKeys) {
        draft.limit_places[std::string(key)] = section.place_of(key);
    }
}

std::optional<execution::ScanAction> action_at(const Section& section, std::string_view key) {
    return section.parsed(key, "note, warn, ask or refuse", [](const std::string& text) {
        return execution::parse_scan_action(text);
    });
}

void read_scan(const Section& section, ProfileDraft& draft) {
    section.check_keys(kScanKeys);
    for (const std::string_view key : kScanKeys) {
        const std::optional<execution::Severity> severity = execution::parse_severity(key);
        if (!severity) {
            continue;
        }
        if (const auto action = action_at(section, key)) {
            draft.by_severity.emplace_back(*severity, *action);
        }
    }
    const std::optional<Section> rules = section.section("rules");
    if (!rules) {
        return;
    }
    std::vector<std::string_view> known;
    for (const ScanRule& rule : scan_rules()) {
        known.push_back(rule.name);
    }
    rules->check_keys(known);
    for (const std::string_view rule : known) {
        if (const auto action = action_at(*rules, rule)) {
            draft.by_rule.emplace_back(rule, *action);
        }
    }
}

void read_privacy(const Section& section, ProfileDraft& draft) {
    section.check_keys(kPrivacyKeys);
    const std::vector<std::string_view>& types = maskable_types();
    const auto fits = [&types](std::string_view name) {
        return name == "all" || std::ranges::find(types, name) != types.end();
    };
    draft.mask = section.list(
        "mask", fmt::format("types of personal data: all, {}", fmt::join(types, ", ")), fits);
    if (draft.mask && std::ranges::find(*draft.mask, "all") != draft.mask->end()) {
        draft.mask = std::vector<std::string>(types.begin(), types.end());
    }
}

std::optional<Network> parse_network(const std::string& text) {
    return text == "allow"  ? std::optional(Network::Allowed)
           : text == "deny" ? std::optional(Network::Denied)
                            : std::nullopt;
}

void read_parts(const Section& section, ProfileDraft& draft) {
    if (const std::optional<Section> imports = section.section("imports")) {
        imports->check_keys(kImportKeys);
        draft.python = read_imports(*imports, "python");
        draft.javascript = read_imports(*imports, "javascript");
    }
    if (const std::optional<Section> limits = section.section("limits")) {
        read_limits(*limits, draft);
    }
    if (const std::optional<Section> scan = section.section("scan")) {
        read_scan(*scan, draft);
    }
    if (const std::optional<Section> privacy = section.section("privacy")) {
        read_privacy(*privacy, draft);
    }
}

ProfileDraft read_profile(std::string name, const Section& section, Place place) {
    section.check_keys(kProfileKeys);
    ProfileDraft draft{.name = std::move(name), .place = std::move(place)};
    draft.description = section.text("description");
    draft.extends = section.word("extends");
    draft.extends_place = section.place_of("extends");
    draft.languages = section.names("languages");
    draft.network = section.parsed("network", "allow or deny", parse_network);
    draft.tool_sets = section.names("tool_sets");
    draft.isolation = section.parsed(
        "isolation", "full, standard or basic",
        [](const std::string& text) { return config::meaning_of<config::IsolationFloor>(text); });
    draft.warn_builtins = section.list("warn_builtins", "names of builtin functions", is_word);
    read_parts(section, draft);
    return draft;
}

// Two files that say something about the same name are two opinions, of which none is the right
// one.
template <typename T>
void put(std::map<std::string, T>& all, const std::string& name, T value,
         config::Problems& problems) {
    if (const auto found = all.find(name); found != all.end()) {
        problems.add(fmt::format("{}: {} is defined at {} already", value.place.describe(),
                                 config::quoted(name), found->second.place.describe()));
        return;
    }
    all.emplace(name, std::move(value));
}

void read_rules(const Section& root, std::string_view key,
                std::map<std::string, RuleDraft>& rules) {
    root.each(key, kMostRules, [&](const std::string& name, const Section& section, Place place) {
        section.check_keys(kRuleKeys);
        const std::optional<std::string> profile = section.text("profile");
        if (!section.table().contains("profile")) {
            section.refuse("profile", "is missing: the name of a profile");
        }
        if (profile) {
            put(rules, name, RuleDraft{.profile = *profile, .place = std::move(place)},
                root.problems());
        }
    });
}

void read_root(const Section& root, PolicyDraft& draft) {
    root.check_keys(kRootKeys);
    if (const toml::node* version = root.table().get("version");
        version != nullptr && version->value<std::int64_t>() != 1) {
        root.refuse("version", "must be 1");
    }
    if (std::optional<std::string> name = root.text("default_profile")) {
        const Place place = root.place_of("default_profile");
        if (draft.default_profile) {
            root.refuse("default_profile", fmt::format("is set at {} already",
                                                       draft.default_profile->place.describe()));
        }
        draft.default_profile = RuleDraft{.profile = std::move(*name), .place = place};
    }
    root.each("profiles", kMostProfiles,
              [&](const std::string& name, const Section& section, Place place) {
                  if (!is_word(name)) {
                      section.refuse("", "must have a name of letters, digits and _ . -");
                      return;
                  }
                  ProfileDraft profile = read_profile(name, section, std::move(place));
                  put(draft.profiles, name, std::move(profile), root.problems());
              });
    read_rules(root, "principals", draft.principals);
    read_rules(root, "tool_sets", draft.tool_sets);
}

}  // namespace

std::string Place::describe() const { return line > 0 ? fmt::format("{}:{}", file, line) : file; }

void read_policy(const PolicyText& file, PolicyDraft& draft, config::Problems& problems) {
    if (file.text.size() > kLargestPolicyFile.count) {
        problems.add(fmt::format("{}: the file is larger than {}", file.name,
                                 format_bytes(kLargestPolicyFile)));
        return;
    }
    const Result<std::string> prepared = config::prepare_toml(file.text, file.name);
    if (!prepared) {
        problems.add(prepared.error().message);
        return;
    }
    const toml::parse_result parsed = toml::parse(std::string_view(*prepared));
    if (!parsed) {
        const toml::source_position where = parsed.error().source().begin;
        problems.add(fmt::format("{}:{}:{}: not valid TOML: {}", file.name, where.line,
                                 where.column, parsed.error().description()));
        return;
    }
    read_root(Section(parsed.table(), "", file.name, problems), draft);
}

}  // namespace belljar::policy
