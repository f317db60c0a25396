#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace belljar::policy {

// A named choice of modules that programs may import. It is a check on programs that mean well; the
// jar is the wall.
struct ImportProfile {
    enum class Reach { Listed, Everything };

    std::string_view name;
    Reach reach = Reach::Listed;
    bool adds_to_basic = false;  // or says all by itself
    std::span<const std::string_view> modules;
};

// Of Python; the first is what programs run under if nothing else is said.
[[nodiscard]] std::span<const ImportProfile> import_profiles();

// InvalidArgument with the names there are.
[[nodiscard]] Result<const ImportProfile*> find_import_profile(std::string_view name);

// Whether a Python program under the profile may import the module, which may be a part of a
// package: "xml.etree.ElementTree" if "xml.etree" is listed.
[[nodiscard]] bool allows_import(const ImportProfile& profile, std::string_view module);

// The same for a module that comes with Node: whether it touches nothing but values.
[[nodiscard]] bool allows_node_import(const ImportProfile& profile, std::string_view module);

}  // namespace belljar::policy
