#include "config/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/fd.h"
#include "config/contradictions.h"
#include "config/draft.h"
#include "config/spelling.h"
#include "config/toml_file.h"

namespace belljar::config {
namespace {

struct ConfigFile {
    std::string name;
    std::string text;
};

std::optional<std::string> choose_path(const LoadInputs& inputs) {
    if (inputs.file_path || inputs.file_text) {
        return inputs.file_path.value_or("configuration");
    }
    const auto variable = inputs.environment.find("BELLJAR_CONFIG");
    if (variable == inputs.environment.end() || variable->second.empty()) {
        return std::nullopt;
    }
    return variable->second;
}

std::string describe_read_failure(const Error& error) {
    return error.sys_errno == 0 ? error.message : std::generic_category().message(error.sys_errno);
}

// Nothing if there is no file, or if it cannot be read, which is then a problem.
std::optional<ConfigFile> open_file(const LoadInputs& inputs, Draft& draft) {
    const std::optional<std::string> path = choose_path(inputs);
    if (!path) {
        return std::nullopt;
    }
    if (inputs.file_text) {
        return ConfigFile{.name = *path, .text = *inputs.file_text};
    }
    if (path->empty() || path->contains('\0')) {
        draft.add_problem(fmt::format("{} is not the path of a file", quoted(*path)));
        return std::nullopt;
    }
    Result<std::string> text = read_file(*path, kMaximumFileSize);
    if (!text) {
        draft.add_problem(
            fmt::format("{}: cannot be read: {}", *path, describe_read_failure(text.error())));
        return std::nullopt;
    }
    return ConfigFile{.name = *path, .text = std::move(*text)};
}

std::string describe_unknown(const FileEntry& entry) {
    const std::vector<std::string_view> sections = section_names();
    if (std::ranges::find(sections, entry.name) != sections.end()) {
        return fmt::format("{0} is a section; write [{0}] and its keys below it", entry.name);
    }
    const bool is_section = entry.value.kind == RawValue::Kind::Table && !entry.name.contains('.');
    return is_section ? unknown_section(entry.name) : unknown_key(entry.name);
}

void apply_file(const LoadInputs& inputs, Draft& draft) {
    const std::optional<ConfigFile> file = open_file(inputs, draft);
    if (!file) {
        return;
    }
    const Result<std::vector<FileEntry>> entries = read_toml(file->text, file->name);
    if (!entries) {
        draft.add_problem(entries.error().message);
        return;
    }
    for (const FileEntry& entry : *entries) {
        const Origin origin{.source = Origin::Source::File, .name = file->name, .line = entry.line};
        if (const Key* key = find_key(entry.name)) {
            draft.set(*key, entry.value, origin);
        } else if (draft.problems().full()) {
            draft.add_problem("");
        } else {
            draft.add_problem(fmt::format("{}: {}", origin.describe(), describe_unknown(entry)));
        }
    }
}

void apply_flags(const LoadInputs& inputs, Draft& draft) {
    for (const auto& [name, value] : inputs.flags) {
        const Origin origin{.source = Origin::Source::Flag, .name = value.flag};
        if (const Key* key = find_key(name)) {
            draft.set(*key, RawValue{.text = value.text}, origin);
        } else {
            draft.add_problem(fmt::format("{}: {}", origin.describe(), unknown_key(name)));
        }
    }
}

Loaded finish(Draft& draft) {
    Loaded loaded{.settings = draft.settings()};
    for (const Key& key : all_keys()) {
        std::string text = text_of(loaded.settings, key);
        if (key.secrecy == Secrecy::Secret && !text.empty()) {
            text = "(set)";
        }
        loaded.entries.push_back(
            Entry{.key = &key, .text = std::move(text), .origin = draft.origin_of(key)});
    }
    return loaded;
}

}  // namespace

const Origin& Loaded::origin_of(std::string_view key) const {
    const auto found =
        std::ranges::find(entries, key, [](const Entry& entry) { return entry.key->name; });
    BJ_ASSERT(found != entries.end());
    return found->origin;
}

Result<Loaded> load(const LoadInputs& inputs) {
    Draft draft;
    apply_file(inputs, draft);
    apply_aliases(inputs.environment, draft);
    apply_variables(inputs.environment, draft);
    apply_flags(inputs, draft);
    if (draft.problems().empty()) {
        resolve_contradictions(draft);
    }
    if (!draft.problems().empty()) {
        return fail(draft.problems().to_error());
    }
    Loaded loaded = finish(draft);
    loaded.inputs = inputs;
    return loaded;
}

}  // namespace belljar::config
