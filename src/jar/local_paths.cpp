#include "jar/local_paths.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "jar/scratch.h"

namespace belljar::jar {

LocalPaths::LocalPaths(WorkspaceKind kind) {
    std::array<char, 4096> here{};
    if (kind == WorkspaceKind::Directory && ::getcwd(here.data(), here.size()) != nullptr) {
        const std::string workspace(here.data());
        scratch_ = workspace.substr(0, workspace.rfind('/') + 1);
    }
}

std::string LocalPaths::translate(const std::string& path) const {
    const std::array<std::pair<std::string_view, const char*>, 2> names{
        {{"/workspace", kWorkspaceName}, {"/tmp", kTmpName}}};
    for (const auto& [name, local] : names) {
        if (scratch_.empty() || !path.starts_with(name)) {
            continue;
        }
        const std::string rest = path.substr(name.size());
        if (rest.empty() || rest.front() == '/') {
            return scratch_ + local + rest;
        }
    }
    return path;
}

std::string LocalPaths::translate_variable(const std::string& variable) const {
    const std::size_t value = variable.find('=') + 1;
    return variable.substr(0, value) + translate(variable.substr(value));
}

}  // namespace belljar::jar
