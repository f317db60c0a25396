#pragma once

#include "mcp/provider.h"

namespace belljar::mcp {

inline constexpr std::string_view kAppsExtension = "io.modelcontextprotocol/ui";
inline constexpr std::string_view kRunView = "ui://belljar/run";

// Where a client that can show views finds the one for a run, for the `_meta` of a tool.
[[nodiscard]] json::object run_view_meta();

// What comes with Belljar and is the same for everybody: its skills, and the view of a run. All of
// it is in the binary.
class ShippedResources : public Provider {
   public:
    ShippedResources();

    Task<std::vector<ResourceDefinition>> resources(Asker asker) override;
    [[nodiscard]] bool owns_resource(std::string_view uri) const override;
    Task<RpcResult<Round<ResourceContents>>> read_resource(
        ResourceRequest request, engine::CancellationPtr cancellation) override;
    [[nodiscard]] std::vector<Skill> skills() const override { return skills_; }

   private:
    struct Entry {
        ResourceDefinition definition{};
        std::string_view content;
    };
    [[nodiscard]] const Entry* find(std::string_view uri) const;

    std::vector<Entry> entries_;
    std::vector<Skill> skills_;
};

// What stands between the lines of dashes at the top of a SKILL.md, each `name: text` on a line.
[[nodiscard]] json::object parse_frontmatter(std::string_view document);

}  // namespace belljar::mcp
