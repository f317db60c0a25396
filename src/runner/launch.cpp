#include "runner/launch.h"

#include <map>

#include "base/utf8.h"
#include "runner/guest_protocol.h"
#include "runner/placeholders.h"

namespace belljar::runner {
namespace {

constexpr std::string_view kOutputPath = "/tmp/program";
constexpr std::size_t kLongestVersion = 64;

void replace_all(std::string& text, std::string_view placeholder, std::string_view value) {
    std::size_t place = text.find(placeholder);
    while (place != std::string::npos) {
        text.replace(place, placeholder.size(), value);
        place = text.find(placeholder, place + value.size());
    }
}

std::vector<std::string> fill_in(const std::vector<std::string>& command,
                                 const Manifest& manifest) {
    std::vector<std::string> filled;
    for (const std::string& part : command) {
        if (part == kArguments) {
            continue;  // they come after everything else, as they are
        }
        std::string text = part;
        replace_all(text, kFile, manifest.file);
        replace_all(text, kOutput, kOutputPath);
        filled.push_back(std::move(text));
    }
    return filled;
}

// What the caller says replaces what the manifest says.
std::vector<std::string> environment_of(const Manifest& manifest,
                                        const std::map<std::string, std::string>& chosen) {
    std::vector<std::string> variables;
    for (const std::string& variable : manifest.environment) {
        if (!chosen.contains(variable.substr(0, variable.find('=')))) {
            variables.push_back(variable);
        }
    }
    for (const auto& [name, value] : chosen) {
        variables.push_back(name + "=" + value);
    }
    return variables;
}

}  // namespace

ManifestPtr with_program(const ManifestPtr& manifest, const std::string& program) {
    Manifest filled = *manifest;
    bool changed = false;
    const std::string directory = program.substr(0, program.rfind('/'));
    for (std::vector<std::string>* command :
         {&filled.compile.command, &filled.command, &filled.version}) {
        for (std::string& part : *command) {
            const std::string before = part;
            replace_all(part, kProgram, program);
            replace_all(part, kDirectory, directory);
            changed = changed || part != before;
        }
    }
    return changed ? std::make_shared<const Manifest>(std::move(filled)) : manifest;
}

ManifestPtr version_of(const ManifestPtr& manifest) {
    Manifest version = *manifest;
    version.bootstrap.clear();
    version.has_reader = false;
    version.file = "version";
    version.compile = {};
    version.command = manifest->version;
    version.preload.clear();
    return std::make_shared<const Manifest>(std::move(version));
}

jar::LaunchRequest launch_of(const Manifest& manifest, const execution::RunRequest& request) {
    jar::LaunchRequest launch{.compile = fill_in(manifest.compile.command, manifest),
                              .compile_time = manifest.compile.timeout,
                              .compile_memory = manifest.compile.memory,
                              .run = fill_in(manifest.command, manifest),
                              .environment = environment_of(manifest, request.environment)};
    if (manifest.command.back() == kArguments) {
        launch.arguments = request.arguments;
    }
    for (const auto& [path, content] : request.files) {
        launch.files.push_back({.path = path, .content = content});
    }
    launch.files.push_back({.path = manifest.file, .content = request.code});
    return launch;
}

std::string encode_request(const Manifest& manifest, const execution::RunRequest& request,
                           std::string_view mark) {
    return manifest.has_launcher() ? jar::encode(launch_of(manifest, request))
                                   : encode_guest_request(request, mark);
}

std::string version_in(const Manifest& manifest, std::string_view output) {
    const std::size_t start = output.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos) {
        return "";
    }
    output.remove_prefix(start);
    if (output.starts_with(manifest.version_prefix)) {
        output.remove_prefix(manifest.version_prefix.size());
    }
    const std::string_view word = output.substr(0, output.find_first_of(" \t\r\n,;"));
    return make_valid_utf8(word.substr(0, kLongestVersion));
}

}  // namespace belljar::runner
