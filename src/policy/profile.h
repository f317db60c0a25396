#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "config/settings.h"
#include "execution/governance.h"
#include "execution/request.h"

namespace belljar::policy {

enum class Network { Denied, Allowed };

// What code may import by itself. It is a check on programs that mean well; the jar is the wall.
struct Imports {
    enum class Reach { Listed, Everything };

    Reach reach = Reach::Everything;
    std::vector<std::string> modules{};  // sorted; each with what is inside of it

    bool operator==(const Imports&) const = default;
};

// Limits below those of the operator; nothing: the operator's own.
struct LimitCaps {
    std::optional<Duration> timeout{};
    std::optional<Bytes> memory{};
    std::optional<double> cpu{};
    std::optional<std::uint32_t> processes{};
    std::optional<Bytes> output{};
    std::optional<Bytes> tmp{};

    bool operator==(const LimitCaps&) const = default;
};

// What is done about findings: by the name of the rule, or else by severity.
struct ScanActions {
    std::array<execution::ScanAction, 4> by_severity{};  // Note, all of them
    std::map<std::string, execution::ScanAction, std::less<>> by_rule{};

    bool operator==(const ScanActions&) const = default;
};

// Names of things, or all there are.
using Names = std::optional<std::vector<std::string>>;

// What the programs of a caller may use. Whole: what it takes over from another is in it.
struct Profile {
    std::string name{};
    std::string description{};
    std::string extends{};  // empty: none
    Imports python{};
    Imports javascript{};              // of TypeScript too
    std::vector<std::string> added{};  // modules of Python that it does not take over
    Names languages{};                 // sorted
    Network network = Network::Denied;
    LimitCaps limits{};
    Names tool_sets{};  // sorted
    config::IsolationFloor isolation = config::IsolationFloor::Basic;
    std::vector<std::string> warn_builtins{};  // sorted
    ScanActions scan{};
    execution::PrivacyRules privacy{};  // sorted
    bool built_in = true;

    bool operator==(const Profile&) const = default;
};

[[nodiscard]] bool controls_imports(const Profile& profile);

// Whether a module may be imported, which may be a part of a package: "xml.etree.ElementTree" if
// "xml.etree" is listed.
[[nodiscard]] bool allows_python(const Profile& profile, std::string_view module);
// The same for a module specifier: "fs/promises" and "node:fs" if "fs" is listed. Files of the
// program and what is below /servers, /skills and /tools are not the matter of a profile.
[[nodiscard]] bool allows_javascript(const Profile& profile, std::string_view specifier);

[[nodiscard]] execution::ScanAction action_for(const Profile& profile, std::string_view rule,
                                               execution::Severity severity);
// Whether a program must be read before it may run: any finding could matter.
[[nodiscard]] bool scans(const Profile& profile);
// Whether a person could have to be asked.
[[nodiscard]] bool may_ask(const Profile& profile);

[[nodiscard]] std::string_view name_of(Network network);
// "python, javascript" or "all".
[[nodiscard]] std::string in_words(const Names& names);

}  // namespace belljar::policy
