#include "access/rights.h"

#include <algorithm>

namespace belljar::access {
namespace {

constexpr std::array<std::string_view, kRightCount> kNames{
    "run:exec",     "files:read", "files:write", "sessions", "packages",
    "metrics:read", "audit:read", "operate",     "admin"};

constexpr std::size_t kLongestName = 64;

Rights rights_of_user() {
    return {Right::RunExec, Right::FilesRead, Right::FilesWrite, Right::Sessions, Right::Packages};
}

Rights rights_of_operator() {
    Rights rights = rights_of_user();
    rights.add({Right::MetricsRead, Right::Operate});
    return rights;
}

}  // namespace

std::string_view name_of(Right right) { return kNames.at(static_cast<std::size_t>(right)); }

std::optional<Right> parse_right(std::string_view name) {
    const auto found = std::ranges::find(kNames, name);
    if (found == kNames.end()) {
        return std::nullopt;
    }
    return kAllRights.at(static_cast<std::size_t>(found - kNames.begin()));
}

Rights::Rights(std::initializer_list<Right> rights) {
    for (const Right right : rights) {
        add(right);
    }
}

void Rights::add(Right right) {
    bits_.set(static_cast<std::size_t>(right));
    if (right == Right::Admin) {
        bits_.set();
    }
}

Rights Rights::missing(Rights needed) const {
    needed.bits_ &= ~bits_;
    return needed;
}

std::string scope_of(const Rights& rights) {
    std::string scope;
    for (const Right right : kAllRights) {
        if (rights.has(right)) {
            scope += scope.empty() ? "" : " ";
            scope += name_of(right);
        }
    }
    return scope;
}

Rights rights_of_scope(std::string_view scope) {
    Rights rights;
    while (!scope.empty()) {
        const std::size_t end = std::min(scope.find(' '), scope.size());
        if (const std::optional<Right> right = parse_right(scope.substr(0, end))) {
            rights.add(*right);
        }
        scope.remove_prefix(std::min(end + 1, scope.size()));
    }
    return rights;
}

std::optional<Rights> rights_of_role(std::string_view role) {
    if (role == "admin") {
        return Rights::all();
    }
    if (role == "operator") {
        return rights_of_operator();
    }
    if (role == "user") {
        return rights_of_user();
    }
    if (role == "auditor") {
        return Rights{Right::MetricsRead, Right::AuditRead};
    }
    return std::nullopt;
}

std::string_view role_names() { return "admin, operator, user, auditor"; }

bool is_tool_set_name(std::string_view name) {
    const auto fits = [](char letter) {
        return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
               (letter >= '0' && letter <= '9') || letter == '.' || letter == '_' || letter == '-';
    };
    return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, fits);
}

void add_role(Caller& caller, std::string_view role) {
    if (const std::optional<Rights> rights = rights_of_role(role)) {
        caller.rights.add(*rights);
    } else if (is_tool_set_name(role)) {
        caller.tool_sets.emplace_back(role);
    }
}

}  // namespace belljar::access
