#include "api/dialect_piston.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <cctype>
#include <charconv>

#include "access/run_origin.h"
#include "api/json_body.h"
#include "api/operation_parts.h"
#include "api/refusals.h"
#include "base/base64.h"
#include "base/utf8.h"
#include "engine/run_arguments.h"
#include "execution/error_wire.h"

namespace belljar::api {
namespace {

using access::HttpResponse;
using engine::SandboxInfo;
using execution::RunResult;
using execution::Status;

using Numbers = std::array<unsigned, 3>;

constexpr unsigned kAnyNumber = ~0U;

// Where its clients look for the reason, and where those of every other path do.
HttpResponse refuse_as_piston(unsigned status, std::string message) {
    return {.status = status,
            .body = to_text(json::object{{"message", message}, {"error", message}})};
}

bool is_digit(char letter) { return std::isdigit(static_cast<unsigned char>(letter)) != 0; }

// "3", "3.x" and "3.*" leave numbers open. Nothing if it is no version.
std::optional<Numbers> numbers_of(std::string_view text) {
    Numbers numbers{kAnyNumber, kAnyNumber, kAnyNumber};
    for (unsigned& number : numbers) {
        const std::string_view part = text.substr(0, text.find('.'));
        text.remove_prefix(std::min(part.size() + 1, text.size()));
        if (part == "x" || part == "X" || part == "*" || part.empty()) {
            break;
        }
        const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
        if (error != std::errc() || end != part.data() + part.size() || number == kAnyNumber) {
            return std::nullopt;
        }
    }
    return text.empty() ? std::optional(numbers) : std::nullopt;
}

bool begins_with(const Numbers& version, const Numbers& wanted) {
    return std::ranges::equal(version, wanted, [](unsigned has, unsigned wants) {
        return wants == kAnyNumber || has == wants;
    });
}

Numbers lowest(Numbers wanted) {
    std::ranges::replace(wanted, kAnyNumber, 0U);
    return wanted;
}

const SandboxInfo::Runner* find_runner(const SandboxInfo& info, std::string_view language) {
    const auto fits = [language](const SandboxInfo::Runner& runner) {
        return runner.usable &&
               (runner.language == language ||
                std::ranges::find(runner.aliases, language) != runner.aliases.end());
    };
    const auto found = std::ranges::find_if(info.runners, fits);
    return found == info.runners.end() ? nullptr : &*found;
}

Result<std::string> decode_hex(std::string_view text) {
    std::string bytes;
    for (std::size_t index = 0; index < text.size(); index += 2) {
        unsigned char byte = 0;
        const std::string_view pair = text.substr(index, 2);
        const auto [end, error] = std::from_chars(pair.data(), pair.data() + pair.size(), byte, 16);
        if (pair.size() != 2 || error != std::errc() || end != pair.data() + pair.size()) {
            return fail(ErrorCode::InvalidArgument, "files: content is not hex");
        }
        bytes += static_cast<char>(byte);
    }
    return bytes;
}

Result<std::string> content_of(const json::object& file) {
    const json::value* content = file.if_contains("content");
    if (content == nullptr || !content->is_string()) {
        return fail(ErrorCode::InvalidArgument, "files.content is required as a string");
    }
    const std::string_view text = content->get_string();
    const json::value* encoding = file.if_contains("encoding");
    if (encoding == nullptr || encoding->is_null() || *encoding == "utf8") {
        return std::string(text);
    }
    if (*encoding == "hex") {
        return decode_hex(text);
    }
    if (*encoding == "base64") {
        Result<std::string> decoded = decode_base64(text);
        return decoded ? std::move(decoded)
                       : fail(ErrorCode::InvalidArgument, "files: content is not base64");
    }
    return fail(ErrorCode::InvalidArgument, "files.encoding must be one of: base64, hex, utf8");
}

// The first file is the program, the others lie beside it.
Result<void> read_files(const json::object& body, json::object& arguments) {
    const json::value* files = body.if_contains("files");
    if (files == nullptr || !files->is_array() || files->get_array().empty()) {
        return fail(ErrorCode::InvalidArgument, "files is required as an array");
    }
    json::object others;
    std::size_t number = 0;
    for (const json::value& file : files->get_array()) {
        if (!file.is_object()) {
            return fail(ErrorCode::InvalidArgument, "files must be an array of objects");
        }
        BJ_TRY(const std::string content, content_of(file.get_object()));
        if (number++ == 0) {
            if (!is_valid_utf8(content)) {
                return fail(ErrorCode::InvalidArgument, "files: the program is not text");
            }
            arguments["code"] = content;
            continue;
        }
        const json::value* name = file.get_object().if_contains("name");
        const std::string path = name != nullptr && name->is_string()
                                     ? std::string(name->get_string())
                                     : fmt::format("file{}.code", number - 1);
        others[path] = json::object{{"base64", encode_base64(content)}};
    }
    if (!others.empty()) {
        arguments["files"] = std::move(others);
    }
    return {};
}

// A number that is given and means a limit; -1 means none of its own.
Result<std::optional<double>> read_limit(const json::object& body, std::string_view name) {
    const json::value* value = body.if_contains(name);
    if (value == nullptr || value->is_null()) {
        return std::nullopt;
    }
    if (!value->is_number()) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("if specified, {} must be a number", name));
    }
    const auto number = value->to_number<double>();
    return number > 0 ? std::optional(number) : std::nullopt;
}

Result<execution::RunRequest> read_request(const json::object& body,
                                           const SandboxInfo::Runner& runner) {
    json::object arguments{{"language", runner.language}};
    BJ_TRY_VOID(read_files(body, arguments));
    for (const std::string_view name : {"stdin", "args"}) {
        const json::value* value = body.if_contains(name);
        if (value != nullptr && !value->is_null()) {
            arguments[name] = *value;
        }
    }
    BJ_TRY(const std::optional<double> milliseconds, read_limit(body, "run_timeout"));
    if (milliseconds) {
        arguments["timeout"] = *milliseconds / 1000;
    }
    BJ_TRY(execution::RunRequest request, engine::parse_run_arguments(arguments));
    BJ_TRY(const std::optional<double> bytes, read_limit(body, "run_memory_limit"));
    if (bytes) {
        constexpr double kMost = 1e15;
        request.memory = Bytes{static_cast<std::uint64_t>(std::clamp(*bytes, 1.0, kMost))};
    }
    return request;
}

json::value signal_of(const RunResult& result) {
    const char* name = result.signal ? ::sigabbrev_np(*result.signal) : nullptr;
    return name != nullptr ? json::value(fmt::format("SIG{}", name)) : json::value(nullptr);
}

json::value status_of(const RunResult& result) {
    switch (result.status) {
        case Status::Ok:
            return nullptr;
        case Status::Timeout:
            return "TO";
        case Status::Output:
            return result.stdout_stream.bytes >= result.stderr_stream.bytes ? "OL" : "EL";
        default:
            return result.signal ? "SG" : "RE";
    }
}

json::object stage_of(const RunResult& result) {
    const std::string out = make_valid_utf8(result.stdout_stream.text);
    const std::string err = make_valid_utf8(result.stderr_stream.text);
    json::object stage{{"stdout", out},
                       {"stderr", err},
                       {"output", out + err},
                       {"code", nullptr},
                       {"message", nullptr},
                       {"signal", signal_of(result)},
                       {"status", status_of(result)}};
    if (result.exit_code && !result.signal) {
        stage["code"] = *result.exit_code;
    }
    if (!result.denials.empty()) {
        stage["message"] = "The program " + make_valid_utf8(result.denials.front().what);
    }
    stage["cpu_time"] = to_seconds(result.usage.cpu) * 1000;
    stage["wall_time"] = to_seconds(result.usage.wall) * 1000;
    stage["memory"] = result.usage.memory_peak_bytes;
    return stage;
}

json::object stage_schema() {
    const auto nullable = [](std::string_view type) {
        return json::object{{"type", json::array{type, "null"}}};
    };
    return {{"type", "object"},
            {"required", json::array{"stdout", "stderr", "output", "code", "signal"}},
            {"properties", json::object{{"stdout", text_schema()},
                                        {"stderr", text_schema()},
                                        {"output", text_schema()},
                                        {"code", nullable("integer")},
                                        {"signal", nullable("string")},
                                        {"message", nullable("string")},
                                        {"status", nullable("string")},
                                        {"cpu_time", json::object{{"type", "number"}}},
                                        {"wall_time", json::object{{"type", "number"}}},
                                        {"memory", json::object{{"type", "integer"}}}}}};
}

json::object request_schema() {
    const json::object number{{"type", json::array{"number", "null"}}};
    const json::object file{
        {"type", "object"},
        {"required", json::array{"content"}},
        {"properties",
         json::object{
             {"name", text_schema()},
             {"content", text_schema()},
             {"encoding", json::object{{"enum", json::array{"utf8", "base64", "hex", nullptr}}}}}}};
    return {
        {"type", "object"},
        {"required", json::array{"language", "version", "files"}},
        {"properties",
         json::object{{"language", text_schema()},
                      {"version", text_schema()},
                      {"files", json::object{{"type", "array"}, {"minItems", 1}, {"items", file}}},
                      {"stdin", json::object{{"type", json::array{"string", "null"}}}},
                      {"args", json::object{{"type", json::array{"array", "null"}},
                                            {"items", text_schema()}}},
                      {"run_timeout", number},
                      {"run_memory_limit", number}}}};
}

json::object runtime_schema() {
    return {{"type", "object"},
            {"required", json::array{"language", "version", "aliases"}},
            {"properties",
             json::object{{"language", text_schema()},
                          {"version", text_schema()},
                          {"aliases", json::object{{"type", "array"}, {"items", text_schema()}}},
                          {"runtime", text_schema()}}}};
}

constexpr std::string_view kExample =
    R"json({"language": "python", "version": "*", "files": [{"content": "1"}]})json";

}  // namespace

std::string plain_version(std::string_view text) {
    for (std::size_t begin = 0; begin < text.size(); ++begin) {
        if (!is_digit(text[begin])) {
            continue;
        }
        std::size_t end = begin;
        while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) {
            ++end;
        }
        std::string version(text.substr(begin, end - begin));
        while (version.ends_with('.')) {
            version.pop_back();
        }
        return version;
    }
    return "0.0.0";
}

bool selects(std::string_view selector, std::string_view version) {
    constexpr std::array<std::string_view, 7> kMarks{">=", "<=", ">", "<", "^", "~", "="};
    const auto mark = std::ranges::find_if(
        kMarks, [selector](std::string_view one) { return selector.starts_with(one); });
    const std::string_view sign = mark == kMarks.end() ? "" : *mark;
    const std::optional<Numbers> wanted = numbers_of(selector.substr(sign.size()));
    const std::optional<Numbers> given = numbers_of(version);
    if (!wanted || !given) {
        return false;
    }
    const Numbers has = lowest(*given);
    const Numbers least = lowest(*wanted);
    if (sign == ">=" || sign == ">") {
        return sign == ">" ? has > least : has >= least;
    }
    if (sign == "<=" || sign == "<") {
        return sign == "<" ? has < least : has <= least;
    }
    if (sign == "^") {
        return has >= least && has[0] == least[0];
    }
    if (sign == "~") {
        return has >= least && has[0] == least[0] && has[1] == least[1];
    }
    return begins_with(has, *wanted);
}

void PistonRoutes::add_to(OperationTable& table) {
    table.add(
        {.id = "listPistonRuntimes",
         .method = "GET",
         .path = "/api/v2/runtimes",
         .tag = "compatibility",
         .summary = "The languages, as Piston lists them",
         .answers = {{.description = "Those that can be used.",
                      .content = {{.schema = {{"type", "array"}, {"items", runtime_schema()}}}}}},
         .handler = [this](Call /*call*/) { return runtimes(); }});
    table.add(
        {.id = "executeAsPiston",
         .method = "POST",
         .path = "/api/v2/execute",
         .tag = "compatibility",
         .summary = "Runs a program, as Piston does",
         .description = "The first file is the program. Limits above those of this server are "
                        "lowered to them; those of a compiler are not looked at.",
         .rights = {access::Right::RunExec},
         .bodies = {{.schema = request_schema()}},
         .answers =
             {{.description = "What became of it.",
               .content = {{.schema = {{"type", "object"},
                                       {"required", json::array{"language", "version", "run"}},
                                       {"properties", json::object{{"language", text_schema()},
                                                                   {"version", text_schema()},
                                                                   {"run", stage_schema()}}}}}}},
              {.status = 400,
               .description = "What is wrong with the request.",
               .content = {{.schema = {{"type", "object"},
                                       {"required", json::array{"message"}},
                                       {"properties",
                                        json::object{{"message", text_schema()}}}}}}}},
         .handler = [this](Call call) { return execute(std::move(call)); }});
}

Task<HttpResponse> PistonRoutes::runtimes() {
    const SandboxInfo info = co_await executor_.survey();
    json::array runtimes;
    for (const SandboxInfo::Runner& runner : info.runners) {
        if (runner.usable) {
            runtimes.push_back(
                {{"language", runner.language},
                 {"version", plain_version(runner.version)},
                 {"aliases", json::array(runner.aliases.begin(), runner.aliases.end())},
                 {"runtime", runner.runner}});
        }
    }
    co_return HttpResponse{.body = to_text(runtimes)};
}

Task<HttpResponse> PistonRoutes::execute(Call call) {
    if (!is_json(call.request)) {
        co_return refuse_as_piston(415, "requests must be of type application/json");
    }
    const Result<json::object> body = read_object(call.request.body, kExample);
    if (!body) {
        co_return refuse_as_piston(400, body.error().message);
    }
    const json::value* language = body->if_contains("language");
    const json::value* version = body->if_contains("version");
    for (const auto& [name, value] : {std::pair("language", language), {"version", version}}) {
        if (value == nullptr || !value->is_string()) {
            co_return refuse_as_piston(400, fmt::format("{} is required as a string", name));
        }
    }
    const SandboxInfo info = co_await executor_.survey();
    const SandboxInfo::Runner* runner = find_runner(info, language->get_string());
    if (runner == nullptr || !selects(version->get_string(), plain_version(runner->version))) {
        co_return refuse_as_piston(
            400, fmt::format("{}-{} runtime is unknown", std::string_view(language->get_string()),
                             std::string_view(version->get_string())));
    }
    Result<execution::RunRequest> run = read_request(*body, *runner);
    if (!run) {
        co_return refuse_as_piston(400, run.error().message);
    }
    access::set_origin(*run, call.request);
    const Result<RunResult> result =
        co_await executor_.execute(std::move(*run), std::move(call.cancellation));
    if (!result) {
        HttpResponse refusal = refuse(result.error());
        refusal.body =
            refuse_as_piston(refusal.status, execution::client_message(result.error())).body;
        co_return refusal;
    }
    co_return HttpResponse{.body = to_text(json::object{{"language", runner->language},
                                                        {"version", plain_version(runner->version)},
                                                        {"run", stage_of(*result)}})};
}

}  // namespace belljar::api
