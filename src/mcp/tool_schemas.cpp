#include "mcp/tool_schemas.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/base64.h"

namespace belljar::mcp {
namespace {

// The strokes of each picture, on a field of 24 by 24.
std::string_view strokes_of(Symbol symbol) {
    switch (symbol) {
        case Symbol::Play:
            return "M7 4v16l13-8z";
        case Symbol::Stack:
            return "M3 8l9-5 9 5-9 5zM3 13l9 5 9-5";
        case Symbol::Clock:
            return "M12 3a9 9 0 1 0 .01 0M12 7v5l4 2";
        case Symbol::Check:
            return "M4 12l5 6L20 5";
        case Symbol::Folder:
            return "M3 6h6l2 3h10v10H3z";
        case Symbol::Search:
            return "M10 3a7 7 0 1 0 .01 0M15 15l6 6";
        case Symbol::Parcel:
            return "M4 7h16v13H4zM4 7l3-4h10l3 4M12 3v8";
        case Symbol::Lens:
            return "M12 3a9 9 0 1 0 .01 0M12 11v6M12 7v1";
    }
    return "";
}

}  // namespace

json::object annotations_for(std::string_view title, Effect effect) {
    const bool idempotent = effect == Effect::Nothing;
    return {{"title", title},
            {"readOnlyHint", effect == Effect::Nothing},
            {"destructiveHint", effect == Effect::Destroys},
            {"idempotentHint", idempotent},
            {"openWorldHint", false}};
}

std::string icon_of(Symbol symbol) {
    return "data:image/svg+xml;base64," +
           encode_base64(fmt::format(
               R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" )"
               R"(stroke="#26a" stroke-width="2"><path d="{}"/></svg>)",
               strokes_of(symbol)));
}

std::string language_names(const engine::SandboxInfo& info) {
    std::vector<std::string> names;
    names.reserve(info.runners.size());
    for (const engine::SandboxInfo::Runner& runner : info.runners) {
        if (runner.usable) {
            names.push_back(runner.language);
        }
    }
    return names.empty() ? "none at the moment" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace belljar::mcp
