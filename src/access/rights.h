#pragma once

#include <array>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "execution/principal_limits.h"

namespace belljar::access {

// What a caller may be allowed to do. The list is closed; each has one name, which is also its
// OAuth scope.
enum class Right {
    RunExec,      // "run:exec": run code, in batches too
    FilesRead,    // "files:read": read files and kept output
    FilesWrite,   // "files:write": write and delete files
    Sessions,     // "sessions": begin, change and end sessions
    Packages,     // "packages": install packages
    MetricsRead,  // "metrics:read": figures of the whole service
    AuditRead,    // "audit:read": records of what everybody did
    Operate,      // "operate": list and end the work of others
    Admin,        // "admin": everything, also tokens and settings
};

inline constexpr std::size_t kRightCount = 9;
inline constexpr std::array<Right, kRightCount> kAllRights{
    Right::RunExec,     Right::FilesRead, Right::FilesWrite, Right::Sessions, Right::Packages,
    Right::MetricsRead, Right::AuditRead, Right::Operate,    Right::Admin};

[[nodiscard]] std::string_view name_of(Right right);
// Nothing if no right has this name.
[[nodiscard]] std::optional<Right> parse_right(std::string_view name);

// A set of rights. Admin brings all others with it.
class Rights {
   public:
    Rights() = default;  // none
    Rights(std::initializer_list<Right> rights);

    [[nodiscard]] static Rights all() { return {Right::Admin}; }

    void add(Right right);
    void add(Rights rights) { bits_ |= rights.bits_; }
    [[nodiscard]] bool has(Right right) const {
        return bits_.test(static_cast<std::size_t>(right));
    }
    [[nodiscard]] bool empty() const { return bits_.none(); }
    // Those of `needed` that are not here.
    [[nodiscard]] Rights missing(Rights needed) const;

    bool operator==(const Rights&) const = default;

   private:
    std::bitset<kRightCount> bits_;
};

[[nodiscard]] inline bool allows(const Rights& rights, Right right) { return rights.has(right); }
[[nodiscard]] inline bool allows(const Rights& rights, const Rights& needed) {
    return rights.missing(needed).empty();
}

// "run:exec files:read", in the order of the list, as a scope parameter has it.
[[nodiscard]] std::string scope_of(const Rights& rights);
// The rights that a scope parameter names; words that are no right of ours give none.
[[nodiscard]] Rights rights_of_scope(std::string_view scope);

// What a role may do: admin, operator, user or auditor. Nothing for every other name, which then is
// the name of a tool set.
[[nodiscard]] std::optional<Rights> rights_of_role(std::string_view role);

// "admin, operator, user, auditor", for messages.
[[nodiscard]] std::string_view role_names();

// Whether a tool set may be called that: letters, digits, '.', '_' and '-', at most 64.
[[nodiscard]] bool is_tool_set_name(std::string_view name);

// How a caller has shown who it is.
enum class Proof { Nothing, Token, AccessToken };

// Who speaks, and what it may do.
struct Caller {
    std::string principal{};  // empty: the one without a name
    Rights rights = Rights::all();
    std::vector<std::string> tool_sets{};  // its roles that are no role of ours
    Proof proof = Proof::Nothing;
    std::optional<std::chrono::system_clock::time_point> expires{};
    execution::PrincipalLimits limits{};  // of its own
};

// Gives the caller what the role may do, or the tool set of that name. Other words give nothing.
void add_role(Caller& caller, std::string_view role);

}  // namespace belljar::access
