#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/json_schema.h"
#include "engine/executor.h"
#include "mcp/answer.h"

namespace belljar::mcp {

// What calling a tool can do to anything that outlives the call.
enum class Effect { Nothing, Adds, Destroys };

[[nodiscard]] json::object annotations_for(std::string_view title, Effect effect);

// Small pictures for tools, each as an address that holds the whole picture.
enum class Symbol { Play, Stack, Clock, Check, Folder, Search, Parcel, Lens };

[[nodiscard]] std::string icon_of(Symbol symbol);

// "python, javascript": what can be used as `language` here.
[[nodiscard]] std::string language_names(const engine::SandboxInfo& info);

// A schema of an object without members.
inline constexpr std::string_view kNoArguments =
    R"({"type": "object", "properties": {}, "additionalProperties": false})";

}  // namespace belljar::mcp
