#include "policy/builtin_profiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace belljar::policy {
namespace {

using execution::ScanAction;
using Reach = Imports::Reach;
using Modules = std::span<const std::string_view>;

constexpr auto kBasic = std::to_array<std::string_view>(
    {"abc",          "base64",     "binascii",    "bisect",    "calendar",    "cmath",
     "collections",  "contextlib", "copy",        "csv",       "dataclasses", "datetime",
     "decimal",      "difflib",    "enum",        "fractions", "functools",   "hashlib",
     "heapq",        "hmac",       "html.parser", "itertools", "json",        "math",
     "numbers",      "operator",   "pprint",      "random",    "re",          "secrets",
     "statistics",   "string",     "textwrap",    "time",      "typing",      "unicodedata",
     "urllib.parse", "uuid",       "xml.etree",   "zoneinfo"});
static_assert(kBasic.size() == 40);

constexpr auto kDataScience =
    std::to_array<std::string_view>({"numpy", "pandas", "scipy", "matplotlib", "seaborn", "sklearn",
                                     "statsmodels", "plotly", "sympy"});
constexpr auto kNetwork = std::to_array<std::string_view>(
    {"httpx", "requests", "urllib.request", "aiohttp", "websocket", "email", "smtplib", "ftplib"});
constexpr auto kFilesystem = std::to_array<std::string_view>(
    {"pathlib", "os.path", "tempfile", "shutil", "glob", "zipfile", "tarfile"});

// Those that come with Node and touch nothing but values.
constexpr auto kNodeBasic = std::to_array<std::string_view>(
    {"assert", "buffer", "console", "crypto", "events", "path", "perf_hooks", "punycode",
     "querystring", "stream", "string_decoder", "timers", "url", "util"});
constexpr auto kNodeNetwork =
    std::to_array<std::string_view>({"dgram", "dns", "http", "http2", "https", "net", "tls"});
constexpr auto kNodeFilesystem = std::to_array<std::string_view>({"fs", "readline", "zlib"});

// A statement about the language rather than an import.
constexpr std::string_view kFuture = "__future__";

constexpr auto kWarnBuiltins =
    std::to_array<std::string_view>({"__import__", "breakpoint", "compile", "eval", "exec"});
constexpr auto kCheckedLanguages =
    std::to_array<std::string_view>({"javascript", "python", "typescript"});

struct Family {
    std::string_view name;
    std::string_view description;
    Modules python;
    Modules javascript;
    config::Switch config::PolicySettings::* chosen;
};

const std::array<Family, 3>& families() {
    static const std::array<Family, 3> kFamilies{
        {{"data_science",
          "The modules of basic, and those for numbers, tables and figures",
          kDataScience,
          {},
          &config::PolicySettings::data_science},
         {"network", "The modules of basic, and those that speak to other hosts", kNetwork,
          kNodeNetwork, &config::PolicySettings::network},
         {"filesystem", "The modules of basic, and those that work on files", kFilesystem,
          kNodeFilesystem, &config::PolicySettings::filesystem}}};
    return kFamilies;
}

std::vector<std::string> strings(Modules modules) { return {modules.begin(), modules.end()}; }

void add(Imports& imports, Modules modules) {
    imports.modules.insert(imports.modules.end(), modules.begin(), modules.end());
    std::ranges::sort(imports.modules);
}

Profile standard(config::Switch network) {
    return {.name = "standard",
            .description = "Every module; the kernel is the wall, and ordinary programs run",
            .network = network == config::Switch::On ? Network::Allowed : Network::Denied,
            .warn_builtins = strings(kWarnBuiltins)};
}

Profile basic() {
    Profile profile{.name = "basic",
                    .description = "Modules that work on values alone",
                    .python = {.reach = Reach::Listed},
                    .javascript = {.reach = Reach::Listed},
                    .added = strings(kBasic),
                    .languages = strings(kCheckedLanguages),
                    .warn_builtins = strings(kWarnBuiltins)};
    add(profile.python, kBasic);
    add(profile.python, std::span(&kFuture, 1));
    add(profile.javascript, kNodeBasic);
    profile.scan.by_severity = {ScanAction::Note, ScanAction::Warn, ScanAction::Warn,
                                ScanAction::Warn};
    return profile;
}

void join(Profile& profile, const Family& family, config::Switch network) {
    add(profile.python, family.python);
    add(profile.javascript, family.javascript);
    if (family.name == "network" && network == config::Switch::On) {
        profile.network = Network::Allowed;
    }
}

std::vector<const Family*> chosen_families(const config::PolicySettings& settings) {
    std::vector<const Family*> chosen;
    for (const Family& family : families()) {
        if (settings.*family.chosen == config::Switch::On) {
            chosen.push_back(&family);
        }
    }
    return chosen;
}

std::string name_of(const std::vector<const Family*>& chosen) {
    std::vector<std::string_view> names;
    for (const Family* family : chosen) {
        names.push_back(family->name);
    }
    return fmt::format("{}", fmt::join(names, "+"));
}

constexpr std::string_view kListed = "allowed_imports";

}  // namespace

std::vector<Profile> builtin_profiles(config::Switch network) {
    std::vector<Profile> profiles{standard(network), basic()};
    for (const Family& family : families()) {
        Profile profile = basic();
        profile.name = family.name;
        profile.description = family.description;
        profile.extends = "basic";
        profile.added = strings(family.python);
        join(profile, family, network);
        profiles.push_back(std::move(profile));
    }
    return profiles;
}

std::optional<Profile> selected_profile(const config::PolicySettings& settings) {
    const std::vector<const Family*> chosen = chosen_families(settings);
    if (!settings.allowed_imports.empty()) {
        Profile profile = basic();
        profile.name = kListed;
        profile.description = "The modules of policy.allowed_imports";
        profile.added = settings.allowed_imports;
        profile.python.modules = settings.allowed_imports;
        profile.javascript.modules = settings.allowed_imports;
        std::ranges::sort(profile.python.modules);
        std::ranges::sort(profile.javascript.modules);
        profile.network =
            settings.network == config::Switch::On ? Network::Allowed : Network::Denied;
        return profile;
    }
    if (chosen.size() < 2) {
        return std::nullopt;
    }
    Profile profile = basic();
    profile.name = name_of(chosen);
    profile.description = "What the switches of the configuration select together";
    profile.extends = "basic";
    profile.added.clear();
    for (const Family* family : chosen) {
        join(profile, *family, settings.network);
        profile.added.insert(profile.added.end(), family->python.begin(), family->python.end());
    }
    return profile;
}

std::string default_profile_name(const config::PolicySettings& settings) {
    if (settings.profile != "standard") {
        return settings.profile;
    }
    if (!settings.allowed_imports.empty()) {
        return std::string(kListed);
    }
    const std::vector<const Family*> chosen = chosen_families(settings);
    return chosen.empty() ? "standard" : name_of(chosen);
}

const std::vector<std::string_view>& maskable_types() {
    static const std::vector<std::string_view> kTypes{"api_key",    "credit_card", "email", "iban",
                                                      "ip_address", "mac_address", "phone", "ssn"};
    return kTypes;
}

}  // namespace belljar::policy
