#include "runner/manifest.h"

#define TOML_EXCEPTIONS 0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/ascii.h"
#include "runner/embedded_files.h"

namespace belljar::runner {
namespace {

constexpr std::string_view kManifests = "runners/";
constexpr std::string_view kGuestPrograms = "guest/";

Result<std::string> required_text(const toml::table& table, std::string_view key) {
    const std::optional<std::string> value = table[key].value<std::string>();
    if (!value || value->empty()) {
        return fail(ErrorCode::InvalidArgument, fmt::format("\"{}\" must be a text", key));
    }
    return *value;
}

Result<std::vector<std::string>> texts(const toml::table& table, std::string_view key) {
    std::vector<std::string> result;
    const toml::array* array = table[key].as_array();
    if (array == nullptr) {
        return fail(ErrorCode::InvalidArgument, fmt::format("\"{}\" must be a list of texts", key));
    }
    for (const toml::node& node : *array) {
        const std::optional<std::string> value = node.value<std::string>();
        if (!value) {
            return fail(ErrorCode::InvalidArgument,
                        fmt::format("\"{}\" must be a list of texts", key));
        }
        result.push_back(*value);
    }
    return result;
}

// Whether `key` has the second of two values.
Result<bool> choice(const toml::table& table, std::string_view key, std::string_view first,
                    std::string_view second) {
    BJ_TRY(const std::string value, required_text(table, key));
    if (value != first && value != second) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("\"{}\" must be \"{}\" or \"{}\"", key, first, second));
    }
    return value == second;
}

Result<std::string> guest_program(const std::string& path) {
    for (const auto& files : {embedded_files(), embedded_packages()}) {
        for (const EmbeddedFile& file : files) {
            if (file.path.starts_with(kGuestPrograms) &&
                file.path.substr(kGuestPrograms.size()) == path) {
                return std::string(file.content);
            }
        }
    }
    return fail(ErrorCode::InvalidArgument, fmt::format("no guest program \"{}\"", path));
}

// What a guest costs that waits for its program.
Result<void> read_waiting(const toml::table& table, Manifest& manifest) {
    if (table.contains("ready_memory")) {
        BJ_TRY(const std::string text, required_text(table, "ready_memory"));
        BJ_TRY(manifest.ready_memory, parse_bytes(text));
    }
    if (table.contains("ready")) {
        const std::optional<std::int64_t> ready = table["ready"].value<std::int64_t>();
        if (!ready || *ready < 0) {
            return fail(ErrorCode::InvalidArgument, "\"ready\" must be a number");
        }
        manifest.ready = static_cast<std::size_t>(*ready);
    }
    if (manifest.ready_memory.count == 0) {
        return fail(ErrorCode::InvalidArgument, "\"ready_memory\" must not be nothing");
    }
    return {};
}

Result<Manifest> read_table(const toml::table& table) {
    Manifest manifest;
    BJ_TRY(manifest.language, required_text(table, "language"));
    BJ_TRY(manifest.aliases, texts(table, "aliases"));
    BJ_TRY(manifest.runner, required_text(table, "runner"));
    BJ_TRY(const std::vector<std::string> bootstrap, texts(table, "bootstrap"));
    for (const std::string& part : bootstrap) {
        BJ_TRY(const std::string text, guest_program(part));
        manifest.bootstrap += text;
    }
    BJ_TRY(Fd program, make_sealed_file("program", manifest.bootstrap));
    manifest.program = std::make_shared<const Fd>(std::move(program));
    BJ_TRY_VOID(read_waiting(table, manifest));
    BJ_TRY(manifest.command, texts(table, "command"));
    BJ_TRY(manifest.environment, texts(table, "environment"));
    if (table.contains("preload")) {
        BJ_TRY(manifest.preload, texts(table, "preload"));
    }
    BJ_TRY(const std::string self_test, required_text(table, "self_test"));
    BJ_TRY(manifest.self_test, guest_program(self_test));
    BJ_TRY(const bool masked, choice(table, "proc", "processes", "masked"));
    BJ_TRY(const bool denied, choice(table, "write_execute", "allowed", "denied"));
    manifest.proc = masked ? ProcView::Masked : ProcView::ProcessesOnly;
    manifest.write_execute = denied ? WriteExecute::Denied : WriteExecute::Allowed;
    if (manifest.command.empty() || !manifest.command.front().starts_with('/')) {
        return fail(ErrorCode::InvalidArgument, "\"command\" must start with an absolute path");
    }
    return manifest;
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view name, std::string_view text) {
    const toml::parse_result parsed = toml::parse(text, name);
    if (!parsed) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{}:{}: {}", name, parsed.error().source().begin.line,
                                parsed.error().description()));
    }
    Result<Manifest> manifest = read_table(parsed.table());
    if (!manifest) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{}: {}", name, manifest.error().message));
    }
    return manifest;
}

Result<Runners> Runners::create() {
    Runners runners;
    for (const EmbeddedFile& file : embedded_files()) {
        if (file.path.starts_with(kManifests)) {
            BJ_TRY(Manifest manifest, parse_manifest(file.path, file.content));
            runners.manifests_.push_back(std::move(manifest));
        }
    }
    return runners;
}

const Manifest* Runners::find(std::string_view language) const {
    const std::string wanted = to_lower(language);
    for (const Manifest& manifest : manifests_) {
        const bool alias = std::ranges::find(manifest.aliases, wanted) != manifest.aliases.end();
        if (manifest.language == wanted || alias) {
            return &manifest;
        }
    }
    return nullptr;
}

void Runners::remove(std::string_view language) {
    std::erase_if(manifests_, [language](const Manifest& one) { return one.language == language; });
}

std::string Runners::names() const {
    std::vector<std::string> names;
    for (const Manifest& manifest : manifests_) {
        names.push_back(manifest.language);
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace belljar::runner
