#include "mcp/skill_methods.h"

#include <fmt/format.h>

#include <set>

#include "mcp/page.h"
#include "mcp/quote.h"

namespace belljar::mcp {
namespace {

using engine::CancellationPtr;

constexpr Caching kSkillList{std::chrono::minutes(5), Caching::Scope::Private};

json::object encode_skill(const Skill& skill) {
    return {{"uri", skill.uri}, {"frontmatter", skill.frontmatter}, {"resources", skill.resources}};
}

std::string uri_of(const json::object& params) {
    const json::value* uri = params.if_contains("uri");
    const json::string* text = uri != nullptr ? uri->if_string() : nullptr;
    return text != nullptr ? std::string(*text) : "";
}

// The children of a directory: files of skills and, by what is below them, directories.
class Directory {
   public:
    // The URI ends with a slash.
    explicit Directory(std::string uri) : uri_(std::move(uri)) {}

    void add(const Skill& skill) {
        for (const json::value& resource : skill.resources) {
            const std::string file(resource.at("uri").as_string());
            if (file.starts_with(uri_)) {
                add(file);
            }
        }
    }

    [[nodiscard]] json::array take() { return std::move(children_); }

   private:
    void add(const std::string& file) {
        const std::string rest = file.substr(uri_.size());
        const std::string name = rest.substr(0, rest.find('/'));
        if (name == rest) {
            children_.emplace_back(json::object{{"uri", file}, {"name", name}});
        } else if (directories_.insert(name).second) {
            children_.emplace_back(json::object{
                {"uri", uri_ + name}, {"name", name}, {"mimeType", "inode/directory"}});
        }
    }

    std::string uri_;
    json::array children_;
    std::set<std::string> directories_;
};

}  // namespace

Task<RpcResult<std::string>> SkillMethods::list(Call call, CancellationPtr /*cancellation*/) {
    json::array skills;
    for (const Provider* provider : providers_) {
        for (const Skill& skill : provider->skills()) {
            skills.emplace_back(encode_skill(skill));
        }
    }
    RpcResult<json::object> page = make_page("skills", std::move(skills), call.message.params);
    if (!page) {
        co_return std::unexpected(std::move(page.error()));
    }
    co_return to_text(complete(std::move(*page), call.revision, identity_, kSkillList));
}

Task<RpcResult<std::string>> SkillMethods::get(Call call, CancellationPtr /*cancellation*/) {
    const std::string uri = uri_of(call.message.params);
    for (const Provider* provider : providers_) {
        for (const Skill& skill : provider->skills()) {
            if (skill.uri == uri) {
                co_return to_text(complete({{"skill", encode_skill(skill)}}, call.revision,
                                           identity_, kSkillList));
            }
        }
    }
    co_return rpc_fail(
        RpcCode::InvalidParams,
        fmt::format("There is no skill {}; skills/list names those that there are.", quote(uri)));
}

Task<RpcResult<std::string>> SkillMethods::read_directory(Call call,
                                                          CancellationPtr /*cancellation*/) {
    const std::string uri = uri_of(call.message.params);
    Directory directory(uri.ends_with('/') ? uri : uri + "/");
    for (const Provider* provider : providers_) {
        for (const Skill& skill : provider->skills()) {
            directory.add(skill);
        }
    }
    json::array children = directory.take();
    if (children.empty()) {
        co_return std::unexpected(resource_not_found(uri));
    }
    RpcResult<json::object> page = make_page("resources", std::move(children), call.message.params);
    if (!page) {
        co_return std::unexpected(std::move(page.error()));
    }
    co_return to_text(complete(std::move(*page), call.revision, identity_, kSkillList));
}

}  // namespace belljar::mcp
