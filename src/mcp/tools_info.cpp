#include "mcp/tools_info.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>

#include "base/utf8.h"
#include "mcp/quote.h"
#include "mcp/revision.h"
#include "mcp/script_run.h"
#include "mcp/text_view.h"
#include "mcp/tool_arguments.h"
#include "mcp/tool_schemas.h"
#include "outcome/result_json.h"

namespace belljar::mcp {
namespace {

constexpr std::string_view kInfoOutput = R"({
  "type": "object",
  "properties": {
    "version": {"type": "string"},
    "languages": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "language": {"type": "string"},
          "aliases": {"type": "array", "items": {"type": "string"}},
          "version": {"type": "string"}
        },
        "required": ["language", "aliases", "version"]
      }
    },
    "limits": {
      "type": "object",
      "properties": {
        "default": {"type": "object", "additionalProperties": {"type": "number"}},
        "maximum": {"type": "object", "additionalProperties": {"type": "number"}}
      },
      "required": ["default", "maximum"]
    },
    "isolation": {
      "type": "object",
      "properties": {
        "grade": {"type": "string"},
        "tier": {"type": "string"},
        "missing": {"type": "array", "items": {"type": "string"}}
      },
      "required": ["grade", "tier", "missing"]
    },
    "protocol_versions": {"type": "array", "items": {"type": "string"}},
    "network": {"type": "string", "enum": ["none"]},
    "success": {"type": "boolean"},
    "security_profiles": {
      "type": "object",
      "description": "Choices of modules; programs run under default_profile or a narrower one.",
      "additionalProperties": {
        "type": "object",
        "properties": {
          "enabled": {"type": "boolean", "description": "Whether programs can make use of them."},
          "modules": {"type": "array", "items": {"type": "string"}}
        },
        "required": ["enabled", "modules"]
      }
    },
    "default_profile": {"type": "string", "description": "Of programs that ask for none."},
    "resource_limits": {
      "type": "object",
      "properties": {
        "timeout": {"type": "number"},
        "max_output_size": {"type": "integer"},
        "memory_limit": {"type": "string"}
      },
      "required": ["timeout", "max_output_size", "memory_limit"]
    },
    "container_mode": {
      "type": "object",
      "properties": {"available": {"type": "boolean"}, "enabled": {"type": "boolean"}},
      "required": ["available", "enabled"]
    }
  },
  "required": ["version", "languages", "limits", "isolation", "protocol_versions",
               "network", "success", "security_profiles", "default_profile", "resource_limits",
               "container_mode"]
})";

constexpr std::string_view kPipInput = R"({
  "type": "object",
  "properties": {
    "package": {
      "type": "string",
      "minLength": 1,
      "maxLength": 100,
      "pattern": "^[A-Za-z0-9._-]+$",
      "description": "The name of a Python package."
    },
    "version": {"type": "string", "maxLength": 100, "default": "latest"}
  },
  "required": ["package"],
  "additionalProperties": false
})";

constexpr std::string_view kPipOutput = R"({
  "type": "object",
  "properties": {
    "success": {"type": "boolean", "description": "Whether the package can be imported."},
    "message": {"type": "string"},
    "installed_version": {"type": ["string", "null"]},
    "installation_time": {"type": "number", "description": "Seconds."},
    "packages": {
      "type": "array",
      "description": "What is there already, if the package is not.",
      "items": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "version": {"type": "string"}},
        "required": ["name", "version"]
      }
    }
  },
  "required": ["success", "message", "installed_version", "installation_time"]
})";

json::array language_list(const engine::SandboxInfo& info) {
    json::array languages;
    for (const engine::SandboxInfo::Runner& runner : info.runners) {
        if (!runner.usable) {
            continue;
        }
        languages.push_back({{"language", runner.language},
                             {"aliases", json::array(runner.aliases.begin(), runner.aliases.end())},
                             {"version", make_valid_utf8(runner.version)}});
    }
    return languages;
}

json::object profile_list(const engine::SandboxInfo& info) {
    json::object profiles;
    for (const engine::SandboxInfo::Profile& profile : info.profiles) {
        if (profile.controls_imports) {
            profiles[profile.name] = {
                {"enabled", profile.enabled},
                {"modules", json::array(profile.modules.begin(), profile.modules.end())}};
        }
    }
    return profiles;
}

json::object describe_sandbox(const engine::SandboxInfo& info) {
    json::array versions;
    for (const Revision revision : kRevisions) {
        versions.emplace_back(name_of(revision));
    }
    json::object limits;
    limits["default"] = outcome::to_json(info.default_limits);
    limits["maximum"] = outcome::to_json(info.maximum_limits);
    json::object description;
    description["version"] = info.version;
    description["languages"] = language_list(info);
    description["limits"] = std::move(limits);
    description["isolation"] = outcome::to_json(info.isolation);
    description["protocol_versions"] = std::move(versions);
    description["network"] = "none";
    description["success"] = true;
    description["security_profiles"] = profile_list(info);
    description["default_profile"] = info.default_profile;
    description["resource_limits"] = {{"timeout", to_seconds(info.default_limits.timeout)},
                                      {"max_output_size", info.default_limits.output.count},
                                      {"memory_limit", format_bytes(info.default_limits.memory)}};
    // Every run is kept apart at least as a container would keep it.
    description["container_mode"] = {{"available", true}, {"enabled", true}};
    return description;
}

// A package as the interpreter in the jar tells of it.
struct Package {
    std::string name{};
    std::string version{};
};

// What the script found: the package that was asked for, and all of them.
struct Found {
    std::optional<std::string> version{};
    std::vector<Package> packages{};
};

std::string clipped(const json::value* value) {
    constexpr std::size_t kLongest = 128;
    return value != nullptr && value->is_string()
               ? std::string(utf8_beginning(value->get_string(), kLongest))
               : "";
}

Found read_found(const json::value& value) {
    constexpr std::size_t kMost = 1000;
    Found found;
    const json::object* object = value.if_object();
    const json::value* list = object != nullptr ? object->if_contains("packages") : nullptr;
    if (list == nullptr || !list->is_array()) {
        return found;
    }
    if (std::string version = clipped(object->if_contains("version")); !version.empty()) {
        found.version = std::move(version);
    }
    for (const json::value& item : list->get_array()) {
        if (item.is_object() && found.packages.size() < kMost) {
            found.packages.push_back(
                {.name = clipped(item.get_object().if_contains("name")),
                 .version = clipped(item.get_object().if_contains("version"))});
        }
    }
    return found;
}

ToolOutcome answer_present(const std::string& package, const std::string& version) {
    const std::string message =
        fmt::format("{} {} is already installed: import it.", package, version);
    return {.text = message,
            .structured = json::object{{"success", true},
                                       {"message", message},
                                       {"installed_version", version},
                                       {"installation_time", 0.0}}};
}

ToolOutcome answer_absent(const std::string& wanted, const Found& found) {
    constexpr std::size_t kNamed = 60;
    std::string message =
        "Installing packages is not enabled on this server, so nothing was installed. ";
    message += found.version ? fmt::format("Only version {} of it is here. ", *found.version)
                             : fmt::format("{} is not here. ", wanted);
    message +=
        "Use what is there already, write what you need yourself, or pass pure Python modules as "
        "files of execute_code. ";
    json::array packages;
    std::string names;
    for (const Package& package : found.packages) {
        if (packages.size() < kNamed) {
            names +=
                fmt::format("{}{} {}", names.empty() ? "" : ", ", package.name, package.version);
        }
        packages.push_back({{"name", package.name}, {"version", package.version}});
    }
    message += names.empty() ? "There is nothing besides the standard library."
                             : fmt::format("Besides the standard library there are: {}{}.", names,
                                           packages.size() > kNamed ? ", ..." : "");
    json::object structured{{"success", false},
                            {"message", message},
                            {"installed_version", nullptr},
                            {"installation_time", 0.0},
                            {"packages", std::move(packages)}};
    if (found.version) {
        structured["installed_version"] = *found.version;
    }
    return {.text = std::move(message), .structured = std::move(structured), .failed = true};
}

bool is_package_name(std::string_view name) {
    constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    return name.find_first_not_of(kLetters) == std::string_view::npos;
}

}  // namespace

ToolDefinition define_get_sandbox_info(const engine::SandboxInfo& /*info*/) {
    constexpr std::string_view kTitle = "Describe the sandbox";
    return {
        .name = "get_sandbox_info",
        .title = std::string(kTitle),
        .description =
            "Tells what execute_code offers here: languages with their versions and accepted "
            "names, default and largest limits, choices of modules that validate_code knows, and "
            "how strongly runs are isolated. Use it once before relying on a language or asking "
            "for more than the default limits. Takes no arguments and changes nothing. Example: {}",
        .input_schema = schema_from(kNoArguments),
        .output_schema = schema_from(kInfoOutput),
        .annotations = annotations_for(kTitle, Effect::Nothing),
        .icon = icon_of(Symbol::Lens)};
}

ToolDefinition define_pip_install(const engine::SandboxInfo& /*info*/) {
    constexpr std::string_view kTitle = "Ask for a Python package";
    return {.name = "pip_install",
            .title = std::string(kTitle),
            .description =
                "Says whether a Python package is there to be imported, with its version. "
                "Installing packages is not enabled on this server: for a package that is missing, "
                "the answer is an error that lists those which are there. Use it before a program "
                "relies on a package outside of the standard library. Example: {\"package\": "
                "\"numpy\"}",
            .input_schema = schema_from(kPipInput),
            .output_schema = schema_from(kPipOutput),
            .annotations = annotations_for(kTitle, Effect::Nothing),
            .icon = icon_of(Symbol::Parcel)};
}

Task<Result<ToolOutcome>> get_sandbox_info(ToolContext context, ToolCall /*call*/,
                                           engine::CancellationPtr /*cancellation*/) {
    const engine::SandboxInfo info = co_await context.executor->survey();
    co_return ToolOutcome{.text = text_view(info), .structured = describe_sandbox(info)};
}

Task<Result<ToolOutcome>> pip_install(ToolContext context, ToolCall call,
                                      engine::CancellationPtr cancellation) {
    const std::string package = text_of(call.arguments, "package");
    const std::string wanted = text_of(call.arguments, "version");
    if (!is_package_name(package)) {
        co_return fail(ErrorCode::InvalidArgument,
                       "\"package\" must be a name of letters, digits and . _ -");
    }
    Script script{.program = "python/packages.py", .input = json::object{{"package", package}}};
    BJ_CO_TRY(const ScriptEnd end, co_await run_script(context, std::move(call), std::move(script),
                                                       std::move(cancellation)));
    const Found found = end.value ? read_found(*end.value) : Found{};
    const bool any = wanted.empty() || wanted == "latest";
    co_return found.version && (any || wanted == *found.version)
        ? answer_present(package, *found.version)
        : answer_absent(package, found);
}

}  // namespace belljar::mcp
