#include "mcp/shipped_resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <map>

#include "crypto/digest.h"
#include "mcp/embedded_files.h"

namespace belljar::mcp {
namespace {

constexpr std::string_view kSkillFolder = "skills/";
constexpr std::string_view kSkillScheme = "skill://";
constexpr std::string_view kSkillFile = "/SKILL.md";
constexpr std::string_view kViewFile = "src/mcp/view/run.html";
constexpr std::chrono::hours kLifetime{1};

// The view needs nothing but itself: every list of places that it may reach is empty.
json::object view_meta() {
    const json::array none;
    return {{"ui", json::object{{"csp", json::object{{"connectDomains", none},
                                                     {"resourceDomains", none},
                                                     {"frameDomains", none},
                                                     {"baseUriDomains", none}}},
                                {"prefersBorder", true}}}};
}

ResourceDefinition describe_view(std::string_view content) {
    return {.uri = std::string(kRunView),
            .name = "run",
            .title = "View of a run",
            .description =
                "Shows the output, figures, tables and files of one execute_code call "
                "in clients that can show views.",
            .mime = "text/html;profile=mcp-app",
            .size = content.size(),
            .meta = view_meta()};
}

ResourceDefinition describe_skill_file(std::string_view name, std::string_view content) {
    return {.uri = fmt::format("{}{}", kSkillScheme, name),
            .name = std::string(name),
            .title = std::string(name.substr(name.rfind('/') + 1)),
            .description = fmt::format("A file of the skill {}.", name.substr(0, name.find('/'))),
            .mime = "text/markdown",
            .size = content.size()};
}

}  // namespace

json::object run_view_meta() {
    return {{"resourceUri", kRunView}, {"visibility", json::array{"model", "app"}}};
}

json::object parse_frontmatter(std::string_view document) {
    constexpr std::string_view kDashes = "---\n";
    json::object frontmatter;
    if (!document.starts_with(kDashes)) {
        return frontmatter;
    }
    document.remove_prefix(kDashes.size());
    while (!document.empty() && !document.starts_with(kDashes)) {
        const std::string_view line = document.substr(0, document.find('\n'));
        document.remove_prefix(std::min(document.size(), line.size() + 1));
        const std::size_t colon = line.find(": ");
        if (colon != std::string_view::npos) {
            frontmatter[line.substr(0, colon)] = line.substr(colon + 2);
        }
    }
    return frontmatter;
}

ShippedResources::ShippedResources() {
    std::map<std::string, Skill> skills;  // by folder
    for (const EmbeddedFile& file : embedded_files()) {
        if (file.path == kViewFile) {
            entries_.push_back({describe_view(file.content), file.content});
        }
        if (!file.path.starts_with(kSkillFolder)) {
            continue;
        }
        const std::string_view name = file.path.substr(kSkillFolder.size());
        entries_.push_back({describe_skill_file(name, file.content), file.content});
        const std::string& uri = entries_.back().definition.uri;
        Skill& skill = skills[std::string(name.substr(0, name.find('/')))];
        skill.resources.emplace_back(
            json::object{{"uri", uri},
                         {"digest", "sha256:" + crypto::sha256_hex(file.content)},
                         {"size", file.content.size()}});
        if (name.ends_with(kSkillFile)) {
            skill.uri = uri;
            skill.frontmatter = parse_frontmatter(file.content);
            ResourceDefinition& described = entries_.back().definition;
            described.name = skill.frontmatter.at("name").as_string();
            described.description = skill.frontmatter.at("description").as_string();
        }
    }
    for (auto& [folder, skill] : skills) {
        skills_.push_back(std::move(skill));
    }
}

Task<std::vector<ResourceDefinition>> ShippedResources::resources(Asker /*asker*/) {
    std::vector<ResourceDefinition> listed;
    for (const Entry& entry : entries_) {
        listed.push_back(entry.definition);
    }
    co_return listed;
}

const ShippedResources::Entry* ShippedResources::find(std::string_view uri) const {
    const auto found = std::ranges::find_if(
        entries_, [uri](const Entry& entry) { return entry.definition.uri == uri; });
    return found != entries_.end() ? &*found : nullptr;
}

bool ShippedResources::owns_resource(std::string_view uri) const { return find(uri) != nullptr; }

Task<RpcResult<Round<ResourceContents>>> ShippedResources::read_resource(
    ResourceRequest request, engine::CancellationPtr /*cancellation*/) {
    const Entry* entry = find(request.uri);
    if (entry == nullptr) {
        co_return std::unexpected(resource_not_found(request.uri));
    }
    co_return ResourceContents{.parts = {{.uri = entry->definition.uri,
                                          .mime = entry->definition.mime,
                                          .bytes = std::string(entry->content),
                                          .meta = entry->definition.meta}},
                               .lifetime = kLifetime};
}

}  // namespace belljar::mcp
