#include "runner/manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "config/duration.h"
#include "config/toml_parser.h"
#include "config/toml_text.h"
#include "runner/embedded_files.h"
#include "runner/placeholders.h"

namespace belljar::runner {
namespace {

constexpr std::string_view kGuestPrograms = "guest/";
constexpr std::size_t kLongestName = 32;
constexpr std::int64_t kMostProcesses = 32768;
constexpr std::int64_t kMostReady = 4096;

constexpr auto kKeys = std::to_array<std::string_view>(
    {"language",    "title",          "aliases",    "runner",       "required",      "detect",
     "version",     "version_prefix", "bootstrap",  "file",         "compile",       "command",
     "environment", "preload",        "ready",      "proc",         "write_execute", "limits",
     "self_test",   "session",        "specialist", "ready_memory", "reader"});
constexpr auto kSpecialistKeys =
    std::to_array<std::string_view>({"words", "preload", "environment"});
constexpr auto kCompileKeys = std::to_array<std::string_view>({"command", "timeout", "memory"});
constexpr auto kLimitKeys =
    std::to_array<std::string_view>({"timeout", "memory", "cpu", "processes", "tmp"});

std::vector<std::string> default_environment() {
    return {"HOME=/workspace", "LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin", "TMPDIR=/tmp",
            "USER=guest"};
}

// A table of the file, and how messages call its keys.
class Section {
   public:
    Section(const toml::table& table, std::string prefix)
        : table_(table), prefix_(std::move(prefix)) {}

    [[nodiscard]] std::unexpected<Error> refuse(std::string_view key, std::string_view rule) const {
        const toml::node* node = table_.get(key);
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{}\"{}{}\" {}", line_of(node), prefix_, key, rule));
    }

    [[nodiscard]] Result<void> check_keys(std::span<const std::string_view> known) const {
        for (const auto& [key, node] : table_) {
            if (std::ranges::find(known, key.str()) == known.end()) {
                return fail(ErrorCode::InvalidArgument,
                            fmt::format("{}unknown key \"{}{}\"; allowed are {}", line_of(&node),
                                        prefix_, key.str().substr(0, 64), fmt::join(known, ", ")));
            }
        }
        return {};
    }

    [[nodiscard]] bool has(std::string_view key) const { return table_.contains(key); }
    [[nodiscard]] const toml::node* get(std::string_view key) const { return table_.get(key); }

    [[nodiscard]] Result<std::string> text(std::string_view key) const {
        const toml::node* node = table_.get(key);
        if (node == nullptr || !node->is_string() || node->as_string()->get().empty()) {
            return refuse(key, "must be a text");
        }
        return node->as_string()->get();
    }

    [[nodiscard]] Result<std::vector<std::string>> texts(std::string_view key) const {
        std::vector<std::string> result;
        const toml::node* node = table_.get(key);
        if (node == nullptr || !node->is_array()) {
            return refuse(key, "must be a list of texts");
        }
        for (const toml::node& item : *node->as_array()) {
            if (!item.is_string() || item.as_string()->get().contains('\0')) {
                return refuse(key, "must be a list of texts");
            }
            result.push_back(item.as_string()->get());
        }
        return result;
    }

    [[nodiscard]] Result<std::uint32_t> count(std::string_view key, std::int64_t most) const {
        const toml::node* node = table_.get(key);
        const std::int64_t value =
            node->is_integer() ? node->as_integer()->get() : std::int64_t{-1};
        if (value < 0 || value > most) {
            return refuse(key, fmt::format("must be a number from 0 to {}", most));
        }
        return static_cast<std::uint32_t>(value);
    }

    [[nodiscard]] Result<Duration> duration(std::string_view key) const {
        const Result<std::string> value = text(key);
        const Result<Duration> duration =
            value ? config::parse_duration(*value) : Result<Duration>(fail(value.error()));
        if (!duration || *duration <= Duration{}) {
            return refuse(key, "must be a time such as \"500ms\", \"30s\" or \"2m\"");
        }
        return *duration;
    }

    [[nodiscard]] Result<Bytes> bytes(std::string_view key) const {
        const Result<std::string> value = text(key);
        const Result<Bytes> bytes =
            value ? parse_bytes(*value) : Result<Bytes>(fail(value.error()));
        if (!bytes || bytes->count == 0) {
            return refuse(key, "must be a size such as \"64m\" or \"1g\"");
        }
        return *bytes;
    }

    // Whether `key` has the second of two values.
    [[nodiscard]] Result<bool> choice(std::string_view key, std::string_view first,
                                      std::string_view second) const {
        const Result<std::string> value = text(key);
        if (!value || (*value != first && *value != second)) {
            return refuse(key, fmt::format("must be \"{}\" or \"{}\"", first, second));
        }
        return *value == second;
    }

    // A table below this one; empty if there is none.
    [[nodiscard]] Result<Section> section(std::string_view key) const {
        static const toml::table kNothing;
        const toml::node* node = table_.get(key);
        if (node != nullptr && !node->is_table()) {
            return refuse(key, "must be a section");
        }
        return Section(node == nullptr ? kNothing : *node->as_table(), fmt::format("{}.", key));
    }

   private:
    // "3: ", before what is said of the line; messages about what is not there have none.
    static std::string line_of(const toml::node* node) {
        return node == nullptr ? "" : fmt::format("{}: ", node->source().begin.line);
    }

    const toml::table& table_;
    std::string prefix_;
};

bool is_name(std::string_view text) {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789+#._-";
    return !text.empty() && text.size() <= kLongestName &&
           text.find_first_not_of(kLetters) == std::string_view::npos;
}

Result<void> read_names(const Section& file, Manifest& manifest) {
    constexpr std::string_view kRule =
        "must be of at most 32 lower-case letters, digits and \"+#._-\"";
    BJ_TRY(manifest.language, file.text("language"));
    if (!is_name(manifest.language)) {
        return file.refuse("language", kRule);
    }
    if (file.has("aliases")) {
        BJ_TRY(manifest.aliases, file.texts("aliases"));
    }
    for (const std::string& alias : manifest.aliases) {
        if (!is_name(alias)) {
            return file.refuse("aliases", kRule);
        }
        if (alias == manifest.language || std::ranges::count(manifest.aliases, alias) > 1) {
            return file.refuse("aliases", fmt::format("has \"{}\" twice", alias));
        }
    }
    manifest.runner = manifest.language;
    manifest.title = manifest.language;
    for (const auto& [key, place] :
         {std::pair("runner", &manifest.runner), std::pair("title", &manifest.title)}) {
        if (file.has(key)) {
            BJ_TRY(*place, file.text(key));
        }
    }
    if (const toml::node* required = file.get("required"); required != nullptr) {
        if (!required->is_boolean()) {
            return file.refuse("required", "must be true or false");
        }
        manifest.need = required->as_boolean()->get() ? Need::Required : Need::Optional;
    }
    return {};
}

Result<void> read_programs(const Section& file, const GuestProgram& program, Manifest& manifest) {
    const auto text_of = [&](std::string_view key, const std::string& name) -> Result<std::string> {
        Result<std::string> text = program(name);
        if (!text) {
            return file.refuse(key, fmt::format("names \"{}\": {}", name, text.error().message));
        }
        return text;
    };
    const auto parts_of = [&](std::string_view key) -> Result<std::string> {
        BJ_TRY(const std::vector<std::string> parts, file.texts(key));
        std::string whole;
        for (const std::string& part : parts) {
            BJ_TRY(const std::string text, text_of(key, part));
            whole += text;
        }
        if (whole.empty()) {
            return file.refuse(key, "must name a program; leave the key out for none");
        }
        return whole;
    };
    if (file.has("reader") && !file.has("bootstrap")) {
        return file.refuse("reader", "is for languages with a bootstrap");
    }
    if (file.has("bootstrap")) {
        BJ_TRY(manifest.bootstrap, parts_of("bootstrap"));
        manifest.has_reader = file.has("reader");
        if (manifest.has_reader) {
            BJ_TRY(const std::string reader, parts_of("reader"));
            manifest.bootstrap += '\0' + reader;
        }
        BJ_TRY(Fd sealed, make_sealed_file("program", manifest.bootstrap));
        manifest.program.file = std::make_shared<const Fd>(std::move(sealed));
    }
    if (file.has("self_test")) {
        BJ_TRY(const std::string name, file.text("self_test"));
        BJ_TRY(manifest.self_test, text_of("self_test", name));
    }
    return {};
}

bool is_program(std::string_view text) {
    return text.starts_with('/') || text == kProgram ||
           text.starts_with(std::string(kDirectory) + "/");
}

Result<void> check_command(const Section& section, std::string_view key,
                           const std::vector<std::string>& command, const Manifest& manifest) {
    const std::string first = command.empty() ? "" : command.front();
    const bool output = !manifest.compile.command.empty() && first == kOutput;
    if (!is_program(first) && !output) {
        return section.refuse(key,
                              "must start with an absolute path inside the jar, {program}, "
                              "{directory}/ or, if it was compiled, {output}");
    }
    for (const std::string& part : command) {
        const bool last = &part == &command.back();
        if (part.contains(kArguments) && (part != kArguments || !last)) {
            return section.refuse(key, "may have {args} only as its last part");
        }
        if (part.contains(kFile) && manifest.file.empty()) {
            return section.refuse(key, "has {file}, but the key \"file\" gives it no name");
        }
        if (part.contains(kOutput) && manifest.compile.command.empty()) {
            return section.refuse(key, "has {output}, but nothing is compiled");
        }
    }
    return {};
}

Result<void> read_compile(const Section& file, Manifest& manifest) {
    BJ_TRY(const Section compile, file.section("compile"));
    BJ_TRY_VOID(compile.check_keys(kCompileKeys));
    if (!file.has("compile")) {
        return {};
    }
    if (!manifest.has_launcher()) {
        return file.refuse("compile", "is for languages without a bootstrap");
    }
    BJ_TRY(manifest.compile.command, compile.texts("command"));
    BJ_TRY_VOID(check_command(compile, "command", manifest.compile.command, manifest));
    if (manifest.compile.command.back() == kArguments) {
        return compile.refuse("command", "cannot have {args}, which are for the program");
    }
    if (compile.has("timeout")) {
        BJ_TRY(manifest.compile.timeout, compile.duration("timeout"));
    }
    if (compile.has("memory")) {
        BJ_TRY(manifest.compile.memory, compile.bytes("memory"));
    }
    return {};
}

Result<void> read_file_name(const Section& file, Manifest& manifest) {
    if (!manifest.has_launcher()) {
        return file.has("file") ? file.refuse("file", "is for languages without a bootstrap")
                                : Result<void>{};
    }
    BJ_TRY(manifest.file, file.text("file"));
    if (manifest.file.contains('/') || manifest.file.starts_with('.') ||
        manifest.file.contains('\0') || manifest.file.size() > 255) {
        return file.refuse("file", "must be the name of a file, such as \"main.rb\"");
    }
    return {};
}

// Where the programs are that the commands begin with.
Result<void> read_detection(const Section& file, Manifest& manifest) {
    const std::vector<std::string>& first =
        manifest.compile.command.empty() ? manifest.command : manifest.compile.command;
    if (!file.has("detect") && !first.front().starts_with('/')) {
        return file.refuse("detect", "must list the paths that {program} can be");
    }
    manifest.detect = {first.front()};
    if (file.has("detect")) {
        BJ_TRY(manifest.detect, file.texts("detect"));
    }
    for (const std::string& path : manifest.detect) {
        if (!path.starts_with('/') || path.contains("/../")) {
            return file.refuse("detect", "must be a list of absolute paths inside the jar");
        }
    }
    if (manifest.detect.empty()) {
        return file.refuse("detect", "must be a list of absolute paths inside the jar");
    }
    return {};
}

Result<void> read_version(const Section& file, Manifest& manifest) {
    if (file.has("version")) {
        BJ_TRY(manifest.version, file.texts("version"));
        const std::string first = manifest.version.empty() ? "" : manifest.version.front();
        if (!is_program(first)) {
            return file.refuse("version",
                               "must start with an absolute path inside the jar, "
                               "{program} or {directory}/");
        }
    } else if (manifest.self_test.empty()) {
        return file.refuse("version",
                           "must be the command that tells the version, unless there is "
                           "a \"self_test\"");
    }
    if (file.has("version_prefix")) {
        BJ_TRY(manifest.version_prefix, file.text("version_prefix"));
    }
    return {};
}

Result<void> read_environment(const Section& file, Manifest& manifest) {
    manifest.environment = default_environment();
    if (!file.has("environment")) {
        return {};
    }
    BJ_TRY(manifest.environment, file.texts("environment"));
    for (const std::string& variable : manifest.environment) {
        if (variable.find('=') == std::string::npos || variable.starts_with('=')) {
            return file.refuse("environment", "must be a list of texts such as \"NAME=value\"");
        }
    }
    return {};
}

Result<void> read_limits(const Section& file, execution::LimitChoices& limits) {
    BJ_TRY(const Section section, file.section("limits"));
    BJ_TRY_VOID(section.check_keys(kLimitKeys));
    if (section.has("timeout")) {
        BJ_TRY(limits.timeout, section.duration("timeout"));
    }
    if (section.has("memory")) {
        BJ_TRY(limits.memory, section.bytes("memory"));
    }
    if (section.has("tmp")) {
        BJ_TRY(limits.tmp, section.bytes("tmp"));
    }
    if (section.has("processes")) {
        BJ_TRY(limits.processes, section.count("processes", kMostProcesses));
    }
    if (const toml::node* cpu = section.get("cpu"); cpu != nullptr) {
        const std::optional<double> value =
            cpu->is_number() ? cpu->value<double>() : std::optional<double>();
        if (!value || *value < 0.01 || *value > 1024) {
            return section.refuse("cpu", "must be a number from 0.01 to 1024");
        }
        limits.cpu = value;
    }
    return {};
}

Result<void> read_jar(const Section& file, Manifest& manifest) {
    if (file.has("proc")) {
        BJ_TRY(const bool masked, file.choice("proc", "processes", "masked"));
        manifest.proc = masked ? ProcView::Masked : ProcView::ProcessesOnly;
    }
    if (file.has("write_execute")) {
        BJ_TRY(const bool denied, file.choice("write_execute", "allowed", "denied"));
        manifest.write_execute = denied ? WriteExecute::Denied : WriteExecute::Allowed;
    }
    for (const std::string_view key : {"preload", "ready"}) {
        if (file.has(key) && manifest.has_launcher()) {
            return file.refuse(key, "is for languages with a bootstrap");
        }
    }
    if (file.has("preload")) {
        BJ_TRY(manifest.preload, file.texts("preload"));
    }
    if (file.has("ready_memory")) {
        BJ_TRY(manifest.ready_memory, file.bytes("ready_memory"));
    }
    if (file.has("ready")) {
        BJ_TRY(manifest.ready, file.count("ready", kMostReady));
    }
    return {};
}

// The same language with more modules in its warm interpreter.
Result<ManifestPtr> read_specialist(const Section& file, const Manifest& generalist) {
    BJ_TRY(const Section section, file.section("specialist"));
    BJ_TRY_VOID(section.check_keys(kSpecialistKeys));
    auto specialist = std::make_shared<Manifest>(generalist);
    specialist->ready = 1;
    BJ_TRY(specialist->words, section.texts("words"));
    BJ_TRY(const std::vector<std::string> preload, section.texts("preload"));
    BJ_TRY(const std::vector<std::string> environment, section.texts("environment"));
    std::ranges::copy(preload, std::back_inserter(specialist->preload));
    std::ranges::copy(environment, std::back_inserter(specialist->environment));
    return ManifestPtr(std::move(specialist));
}

Result<Manifest> read_table(const Section& file, const GuestProgram& program) {
    Manifest manifest;
    BJ_TRY_VOID(file.check_keys(kKeys));
    BJ_TRY_VOID(read_names(file, manifest));
    BJ_TRY_VOID(read_programs(file, program, manifest));
    BJ_TRY_VOID(read_file_name(file, manifest));
    BJ_TRY_VOID(read_compile(file, manifest));
    BJ_TRY(manifest.command, file.texts("command"));
    BJ_TRY_VOID(check_command(file, "command", manifest.command, manifest));
    BJ_TRY_VOID(read_detection(file, manifest));
    BJ_TRY_VOID(read_version(file, manifest));
    BJ_TRY_VOID(read_environment(file, manifest));
    BJ_TRY_VOID(read_jar(file, manifest));
    BJ_TRY_VOID(read_limits(file, manifest.limits));
    if (file.has("session")) {
        BJ_TRY(const bool copies, file.choice("session", "process", "copies"));
        manifest.session = copies ? SessionKind::Copies : SessionKind::Process;
    }
    if (file.has("specialist")) {
        BJ_TRY(manifest.specialist, read_specialist(file, manifest));
    }
    return manifest;
}

}  // namespace

Result<std::string> embedded_guest_program(const std::string& name) {
    for (const auto& files : {embedded_files(), embedded_packages()}) {
        for (const EmbeddedFile& file : files) {
            if (file.path.starts_with(kGuestPrograms) &&
                file.path.substr(kGuestPrograms.size()) == name) {
                return std::string(file.content);
            }
        }
    }
    return fail(ErrorCode::InvalidArgument, "there is no guest program of that name");
}

Result<Manifest> parse_manifest(std::string_view name, std::string_view text,
                                const GuestProgram& program) {
    BJ_TRY(const std::string prepared, config::prepare_toml(text, std::string(name)));
    const toml::parse_result parsed = toml::parse(prepared, name);
    if (!parsed) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{}:{}: {}", name, parsed.error().source().begin.line,
                                parsed.error().description()));
    }
    Result<Manifest> manifest = read_table(Section(parsed.table(), ""), program);
    if (!manifest) {
        const std::string& message = manifest.error().message;
        const bool has_line = message.front() >= '0' && message.front() <= '9';
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{}:{}{}", name, has_line ? "" : " ", message));
    }
    return manifest;
}

ManifestPtr suited(const ManifestPtr& manifest, std::string_view code) {
    const ManifestPtr& specialist = manifest->specialist;
    const auto is_mentioned = [code](const std::string& word) {
        return code.find(word) != std::string_view::npos;
    };
    const bool wanted =
        specialist != nullptr && std::ranges::any_of(specialist->words, is_mentioned);
    return wanted ? specialist : manifest;
}

}  // namespace belljar::runner
