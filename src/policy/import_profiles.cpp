#include "policy/import_profiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace belljar::policy {
namespace {

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

using Reach = ImportProfile::Reach;

constexpr std::array<ImportProfile, 5> kProfiles{
    {{"standard", Reach::Everything, false, {}},
     {"basic", Reach::Listed, false, kBasic},
     {"data_science", Reach::Listed, true, kDataScience},
     {"network", Reach::Listed, true, kNetwork},
     {"filesystem", Reach::Listed, true, kFilesystem}}};

constexpr auto kNodeModules = std::to_array<std::string_view>(
    {"assert", "buffer", "console", "crypto", "events", "path", "punycode", "querystring", "stream",
     "string_decoder", "timers", "url", "util"});

bool lists(std::span<const std::string_view> modules, std::string_view name) {
    return std::ranges::any_of(modules, [name](std::string_view module) {
        return name == module ||
               (name.starts_with(module) && name.substr(module.size()).starts_with('.'));
    });
}

}  // namespace

std::span<const ImportProfile> import_profiles() { return kProfiles; }

Result<const ImportProfile*> find_import_profile(std::string_view name) {
    const auto* found = std::ranges::find(kProfiles, name, &ImportProfile::name);
    if (found != kProfiles.end()) {
        return &*found;
    }
    std::vector<std::string_view> names;
    for (const ImportProfile& profile : kProfiles) {
        names.push_back(profile.name);
    }
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("there is no such profile; the profiles are {}", fmt::join(names, ", ")));
}

bool allows_import(const ImportProfile& profile, std::string_view module) {
    return profile.reach == Reach::Everything || lists(profile.modules, module) ||
           (profile.adds_to_basic && lists(kBasic, module));
}

bool allows_node_import(const ImportProfile& profile, std::string_view module) {
    if (module.starts_with("node:")) {
        module.remove_prefix(5);
    }
    const std::string_view package = module.substr(0, module.find('/'));
    return profile.reach == Reach::Everything ||
           std::ranges::find(kNodeModules, package) != kNodeModules.end();
}

}  // namespace belljar::policy
