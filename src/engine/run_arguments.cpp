#include "engine/run_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/base64.h"
#include "storage/conversation_store.h"

namespace belljar::engine {
namespace {

using execution::RunRequest;

constexpr std::size_t kMaxListed = 1024;   // arguments, variables and files, each
constexpr double kCountableSeconds = 1e9;  // far beyond what any policy allows

std::unexpected<Error> wrong_type(std::string_view name, std::string_view expected,
                                  const json::value& found) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("\"{}\" must be {}, not {}", name, expected, describe_kind(found)));
}

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

// Text that becomes a C string of the guest (argument, variable, path) cannot hold a NUL byte.
Result<std::string> c_text(std::string_view name, const json::value& value) {
    if (!value.is_string()) {
        return wrong_type(name, "a string", value);
    }
    std::string text(value.get_string());
    if (has_nul(text)) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("\"{}\" contains a NUL byte, which no program can receive", name));
    }
    return text;
}

Result<void> read_code(RunRequest& request, const json::value& value) {
    BJ_TRY(request.code, c_text("code", value));
    return {};
}

Result<void> read_language(RunRequest& request, const json::value& value) {
    BJ_TRY(request.language, c_text("language", value));
    request.language_given = true;
    return {};
}

Result<void> read_timeout(RunRequest& request, const json::value& value) {
    if (!value.is_number()) {
        return wrong_type("timeout", "a number of seconds", value);
    }
    const double seconds = value.to_number<double>();
    if (!(seconds > 0)) {
        return fail(ErrorCode::InvalidArgument,
                    "\"timeout\" must be a number of seconds greater than 0");
    }
    request.timeout = std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(std::min(seconds, kCountableSeconds)));
    return {};
}

Result<void> read_memory(RunRequest& request, const json::value& value) {
    if (!value.is_string()) {
        return wrong_type("memory_limit", "a size such as \"256m\"", value);
    }
    const Result<Bytes> bytes = parse_bytes(value.get_string());
    if (!bytes) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("\"memory_limit\": {}", bytes.error().message));
    }
    request.memory = *bytes;
    return {};
}

Result<void> read_cpu(RunRequest& request, const json::value& value) {
    if (!value.is_number()) {
        return wrong_type("cpu", "a number of cores such as 0.5", value);
    }
    request.cpu = value.to_number<double>();
    return {};
}

Result<void> read_processes(RunRequest& request, const json::value& value) {
    const bool whole = value.is_uint64() || (value.is_int64() && value.get_int64() >= 0);
    if (!whole) {
        return fail(ErrorCode::InvalidArgument,
                    "\"processes\" must be a whole number greater than 0");
    }
    request.processes = value.to_number<std::uint64_t>();
    return {};
}

Result<void> read_max_output(RunRequest& request, const json::value& value) {
    const bool whole = value.is_uint64() || (value.is_int64() && value.get_int64() >= 0);
    if (whole) {
        request.output = Bytes{value.to_number<std::uint64_t>()};
        return {};
    }
    if (!value.is_string()) {
        return fail(ErrorCode::InvalidArgument,
                    "\"max_output\" must be a size such as \"64k\" or a whole number of bytes "
                    "greater than 0");
    }
    const Result<Bytes> bytes = parse_bytes(value.get_string());
    if (!bytes) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("\"max_output\": {}", bytes.error().message));
    }
    request.output = *bytes;
    return {};
}

Result<void> read_stdin(RunRequest& request, const json::value& value) {
    if (!value.is_string()) {
        return wrong_type("stdin", "a string", value);
    }
    request.stdin_text = std::string(value.get_string());
    return {};
}

Result<void> too_many(std::string_view name) {
    return fail(ErrorCode::InvalidArgument,
                fmt::format("\"{}\" may have at most {} entries", name, kMaxListed));
}

Result<void> read_arguments(RunRequest& request, const json::value& value) {
    if (!value.is_array()) {
        return wrong_type("args", "an array of strings", value);
    }
    if (value.get_array().size() > kMaxListed) {
        return too_many("args");
    }
    for (const json::value& item : value.get_array()) {
        BJ_TRY(std::string argument, c_text("args", item));
        request.arguments.push_back(std::move(argument));
    }
    return {};
}

Result<void> read_environment(RunRequest& request, const json::value& value) {
    if (!value.is_object()) {
        return wrong_type("env", "an object of strings", value);
    }
    if (value.get_object().size() > kMaxListed) {
        return too_many("env");
    }
    for (const auto& [key, item] : value.get_object()) {
        const std::string name(key);
        if (name.empty() || has_nul(name) || name.find('=') != std::string::npos) {
            return fail(ErrorCode::InvalidArgument,
                        "\"env\" has a name that is empty or contains \"=\" or a NUL byte");
        }
        BJ_TRY(request.environment[name], c_text("env", item));
    }
    return {};
}

// A path below /workspace, given by the caller: relative, no empty, "." or ".." part.
Result<void> check_path(std::string_view path) {
    constexpr std::string_view kRule =
        "\"files\" needs relative paths below /workspace without \"..\"";
    if (path.empty() || path.front() == '/' || path.size() > 1024 || has_nul(path)) {
        return fail(ErrorCode::InvalidArgument, std::string(kRule));
    }
    std::size_t begin = 0;
    while (begin <= path.size()) {
        const std::size_t end = std::min(path.find('/', begin), path.size());
        const std::string_view part = path.substr(begin, end - begin);
        if (part.empty() || part == "." || part == ".." || part.size() > 255) {
            return fail(ErrorCode::InvalidArgument, std::string(kRule));
        }
        begin = end + 1;
    }
    return {};
}

Result<std::string> file_content(const json::value& value) {
    if (value.is_string()) {
        return std::string(value.get_string());
    }
    const json::value* encoded =
        value.is_object() ? value.get_object().if_contains("base64") : nullptr;
    if (encoded == nullptr || !encoded->is_string() || value.get_object().size() != 1) {
        return wrong_type("files", "an object of texts or {\"base64\": \"...\"}", value);
    }
    Result<std::string> content = decode_base64(encoded->get_string());
    if (!content) {
        return fail(ErrorCode::InvalidArgument, "\"files\" has a \"base64\" that is not base64");
    }
    return content;
}

Result<void> read_files(RunRequest& request, const json::value& value) {
    if (!value.is_object()) {
        return wrong_type("files", "an object of path to text", value);
    }
    if (value.get_object().size() > kMaxListed) {
        return too_many("files");
    }
    for (const auto& [path, item] : value.get_object()) {
        BJ_TRY_VOID(check_path(path));
        BJ_TRY(request.files[std::string(path)], file_content(item));
    }
    return {};
}

bool is_module_name(std::string_view name) {
    const auto fits = [](unsigned char letter) {
        return letter >= 0x80 || letter == '_' || std::isalnum(letter) != 0;
    };
    return !name.empty() && name.size() <= 255 && std::ranges::all_of(name, fits);
}

// Policy for programs that mean well; what a program can reach is decided by its jar.
Result<void> read_allowed_imports(RunRequest& request, const json::value& value) {
    if (value.is_null()) {
        return {};
    }
    if (!value.is_array()) {
        return wrong_type("allowed_imports", "an array of module names", value);
    }
    if (value.get_array().size() > kMaxListed) {
        return too_many("allowed_imports");
    }
    std::vector<std::string> modules;
    for (const json::value& item : value.get_array()) {
        BJ_TRY(std::string module, c_text("allowed_imports", item));
        if (!is_module_name(module)) {
            return fail(ErrorCode::InvalidArgument,
                        "\"allowed_imports\" takes names of top-level modules such as \"math\"");
        }
        modules.push_back(std::move(module));
    }
    request.allowed_imports = std::move(modules);
    return {};
}

// Every run is in a jar of its own, which keeps it apart at least as a container would.
Result<void> read_use_container(RunRequest& /*request*/, const json::value& value) {
    if (!value.is_bool() && !value.is_null()) {
        return wrong_type("use_container", "true or false", value);
    }
    return {};
}

Result<void> read_session(RunRequest& request, const json::value& value) {
    if (!value.is_bool() && !value.is_null()) {
        return wrong_type("session", "true or false", value);
    }
    request.session = value.is_bool() && value.get_bool();
    return {};
}

Result<void> read_network(RunRequest& request, const json::value& value) {
    if (!value.is_bool() && !value.is_null()) {
        return wrong_type("network", "true or false", value);
    }
    request.network = value.is_bool() && value.get_bool();
    return {};
}

// Names that we made or that callers choose: short, and fit for a log and for a path.
Result<void> read_name(std::string_view name, const json::value& value,
                       std::optional<std::string>& place) {
    constexpr std::size_t kLongest = 128;
    if (value.is_null()) {
        return {};
    }
    BJ_TRY(std::string text, c_text(name, value));
    const auto fits = [](unsigned char letter) {
        return std::isalnum(letter) != 0 || std::string_view("._:@-").contains(char(letter));
    };
    if (text.empty() || text.size() > kLongest || text.front() == '.' ||
        !std::ranges::all_of(text, fits)) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("\"{}\" must be 1 to {} letters, digits and . _ : @ -, and not "
                                "begin with a dot",
                                name, kLongest));
    }
    place = std::move(text);
    return {};
}

// Which profiles there are, policy knows.
Result<void> read_profile(RunRequest& request, const json::value& value) {
    constexpr std::size_t kLongest = 128;
    if (value.is_null()) {
        return {};
    }
    BJ_TRY(std::string name, c_text("profile", value));
    if (name.empty() || name.size() > kLongest) {
        return fail(ErrorCode::InvalidArgument, "\"profile\" must be the name of a profile");
    }
    request.profile = std::move(name);
    return {};
}

Result<void> read_session_id(RunRequest& request, const json::value& value) {
    return read_name("session_id", value, request.session_id);
}

// Any text: it names a conversation and is never a path.
Result<void> read_conversation_as(std::string_view name, RunRequest& request,
                                  const json::value& value) {
    if (value.is_null()) {
        return {};
    }
    BJ_TRY(std::string text, c_text(name, value));
    BJ_TRY_VOID(storage::check_conversation_id(text));
    request.conversation_id = std::move(text);
    return {};
}

Result<void> read_conversation(RunRequest& request, const json::value& value) {
    return read_conversation_as("conversation_id", request, value);
}

Result<void> read_conversation_by_other_name(RunRequest& request, const json::value& value) {
    return read_conversation_as("conversationId", request, value);
}

Result<void> read_debug(RunRequest& request, const json::value& value) {
    if (!value.is_bool() && !value.is_null()) {
        return wrong_type("debug", "true or false", value);
    }
    request.debug = value.is_bool() && value.get_bool();
    return {};
}

Result<void> read_output(RunRequest& request, const json::value& value) {
    if (value.is_null() || value == "compact") {
        request.output_form = execution::OutputForm::Compact;
    } else if (value == "full") {
        request.output_form = execution::OutputForm::Full;
    } else {
        return fail(ErrorCode::InvalidArgument, "\"output\" must be \"compact\" or \"full\"");
    }
    return {};
}

struct Argument {
    std::string_view name;
    Result<void> (*read)(RunRequest&, const json::value&);
};

constexpr std::array<Argument, 21> kArguments{{{"code", read_code},
                                               {"language", read_language},
                                               {"timeout", read_timeout},
                                               {"memory_limit", read_memory},
                                               {"cpu", read_cpu},
                                               {"processes", read_processes},
                                               {"max_output", read_max_output},
                                               {"stdin", read_stdin},
                                               {"args", read_arguments},
                                               {"env", read_environment},
                                               {"files", read_files},
                                               {"allowed_imports", read_allowed_imports},
                                               {"use_container", read_use_container},
                                               {"session", read_session},
                                               {"session_id", read_session_id},
                                               {"conversation_id", read_conversation},
                                               {"conversationId", read_conversation_by_other_name},
                                               {"output", read_output},
                                               {"profile", read_profile},
                                               {"network", read_network},
                                               {"debug", read_debug}}};

// Arguments of the fixed set whose default is the only thing this installation offers. Asking for
// more is refused in words; it is never silently ignored.
struct FixedArgument {
    std::string_view name;
    std::string_view only;  // JSON text of the accepted value
    std::string_view refusal;
};

constexpr std::array<FixedArgument, 1> kFixedArguments{
    {{"capture_output", "true", "output is always captured"}}};

Result<void> check_fixed(const FixedArgument& fixed, const json::value& value) {
    if (value.is_null() || to_text(value) == fixed.only) {
        return {};
    }
    return fail(ErrorCode::Unsupported,
                fmt::format("\"{}\": {}; leave it out", fixed.name, fixed.refusal));
}

Result<void> read_argument(RunRequest& request, std::string_view name, const json::value& value) {
    for (const Argument& argument : kArguments) {
        if (argument.name == name) {
            return argument.read(request, value);
        }
    }
    for (const FixedArgument& fixed : kFixedArguments) {
        if (fixed.name == name) {
            return check_fixed(fixed, value);
        }
    }
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format(
            "unknown argument \"{}\"; allowed are code, language, timeout, "
            "memory_limit, cpu, processes, max_output, stdin, args, env, files, allowed_imports, "
            "profile, session, session_id, conversation_id, use_container, output and debug",
            name.substr(0, 64)));
}

}  // namespace

Result<RunRequest> parse_run_arguments(const json::object& arguments) {
    RunRequest request;
    if (!arguments.contains("code")) {
        return fail(ErrorCode::InvalidArgument, "\"code\" is required: the program text to run");
    }
    for (const auto& [name, value] : arguments) {
        BJ_TRY_VOID(read_argument(request, name, value));
    }
    return request;
}

}  // namespace belljar::engine
