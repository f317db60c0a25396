#include "api/dialect_sandbox_fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>

#include "access/run_origin.h"
#include "api/json_body.h"
#include "api/refusals.h"
#include "base/base64.h"
#include "base/id.h"
#include "base/utf8.h"
#include "engine/run_arguments.h"
#include "execution/error_wire.h"

namespace belljar::api {
namespace {

using access::HttpResponse;
using execution::RunResult;
using execution::Status;

constexpr std::size_t kMostFetched = 256;
constexpr double kUsualSeconds = 10;
constexpr unsigned kBadRequests = 422;  // the last status that says so

struct Name {
    std::string_view theirs;
    std::string_view ours;
};

// Languages that are called otherwise there; the rest have the same names.
constexpr std::array<Name, 4> kNames{
    {{"nodejs", "javascript"}, {"R", "r"}, {"pytest", ""}, {"python_gpu", ""}}};

// 422 with the faulty member, as the frameworks of such services answer.
HttpResponse refuse_member(std::string_view member, std::string message) {
    return {.status = 422,
            .body = to_text(json::object{
                {"detail", json::array{json::object{{"loc", json::array{"body", member}},
                                                    {"msg", std::move(message)},
                                                    {"type", "value_error"}}}}})};
}

json::object run_result(const RunResult& result) {
    json::object told{{"status", "Finished"},
                      {"execution_time", to_seconds(result.usage.wall)},
                      {"cpu_time", to_seconds(result.usage.cpu)},
                      {"return_code", nullptr},
                      {"stdout", make_valid_utf8(result.stdout_stream.text)},
                      {"stderr", make_valid_utf8(result.stderr_stream.text)}};
    if (result.status == Status::Timeout) {
        told["status"] = "TimeLimitExceeded";
    } else if (result.exit_code) {
        told["return_code"] = *result.exit_code;
    } else {
        told["return_code"] = -result.signal.value_or(9);  // as Python tells of a signal
    }
    return told;
}

HttpResponse answer(const RunResult& result, json::object files) {
    std::string message;
    for (const execution::Denial& denial : result.denials) {
        message += fmt::format("{}The program {}. {}", message.empty() ? "" : " ",
                               make_valid_utf8(denial.what), make_valid_utf8(denial.hint));
    }
    return {.body = to_text(json::object{{"status", result.success() ? "Success" : "Failed"},
                                         {"message", std::move(message)},
                                         {"compile_result", nullptr},
                                         {"run_result", run_result(result)},
                                         {"executor_pod_name", nullptr},
                                         {"files", std::move(files)}})};
}

std::string own_name(std::string_view language) {
    const auto* known = std::ranges::find(kNames, language, &Name::theirs);
    return std::string(known == kNames.end() ? language : known->ours);
}

Result<execution::RunRequest> read_request(const json::object& body) {
    const json::value* code = body.if_contains("code");
    json::object arguments{{"code", code != nullptr ? *code : json::value{}}};
    if (const json::value* language = body.if_contains("language");
        language != nullptr && language->is_string()) {
        arguments["language"] = own_name(language->get_string());
    }
    if (const json::value* input = body.if_contains("stdin"); input && !input->is_null()) {
        arguments["stdin"] = *input;
    }
    const json::value* timeout = body.if_contains("run_timeout");
    arguments["timeout"] = timeout != nullptr ? *timeout : json::value(kUsualSeconds);
    if (const json::value* files = body.if_contains("files"); files && files->is_object()) {
        json::object given;
        for (const auto& [path, content] : files->get_object()) {
            if (!content.is_null()) {  // a name alone
                given[path] = json::object{{"base64", content}};
            }
        }
        arguments["files"] = std::move(given);
    }
    BJ_TRY(execution::RunRequest request, engine::parse_run_arguments(arguments));
    const json::value* megabytes = body.if_contains("memory_limit_MB");
    if (megabytes != nullptr && megabytes->is_number() && megabytes->to_number<double>() > 0) {
        constexpr double kMost = 1e9;
        const double given = std::clamp(megabytes->to_number<double>(), 1.0, kMost);
        request.memory = mebibytes(static_cast<std::uint64_t>(given));
    }
    return request;
}

Result<std::vector<std::string>> read_wanted(const json::object& body) {
    std::vector<std::string> wanted;
    const json::value* value = body.if_contains("fetch_files");
    if (value == nullptr || value->is_null()) {
        return wanted;
    }
    if (!value->is_array() || value->get_array().size() > kMostFetched) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("fetch_files takes at most {} paths", kMostFetched));
    }
    for (const json::value& path : value->get_array()) {
        if (!path.is_string()) {
            return fail(ErrorCode::InvalidArgument, "fetch_files takes paths");
        }
        std::string text(path.get_string());
        text.erase(0, text.starts_with("./") ? 2 : 0);
        wanted.push_back(std::move(text));
    }
    return wanted;
}

json::object fusion_request_schema() {
    const json::object text{{"type", "string"}};
    const json::object number{{"type", "number"}};
    return {{"type", "object"},
            {"required", json::array{"code", "language"}},
            {"properties",
             json::object{
                 {"code", text},
                 {"language", text},
                 {"compile_timeout", number},
                 {"run_timeout", number},
                 {"memory_limit_MB", number},
                 {"stdin", json::object{{"type", json::array{"string", "null"}}}},
                 {"files", json::object{{"type", "object"},
                                        {"additionalProperties",
                                         json::object{{"type", json::array{"string", "null"}}}}}},
                 {"fetch_files", json::object{{"type", "array"}, {"items", text}}}}}};
}

json::object response_schema() {
    return {{"type", "object"},
            {"required", json::array{"status", "message", "run_result", "files"}},
            {"properties",
             json::object{{"status", json::object{{"enum", json::array{"Success", "Failed"}}}},
                          {"message", json::object{{"type", "string"}}},
                          {"run_result", json::object{{"type", "object"}}},
                          {"files", json::object{{"type", "object"}}}}}};
}

constexpr std::string_view kFusionExample = R"json({"code": "print(1)", "language": "python"})json";

}  // namespace

void SandboxFusionRoutes::add_to(OperationTable& table) {
    table.add({.id = "runCodeAsSandboxFusion",
               .method = "POST",
               .path = "/run_code",
               .tag = "compatibility",
               .summary = "Runs a program, as SandboxFusion does",
               .description = "Files come and go in base64. Whatever the program does is a 200.",
               .rights = {access::Right::RunExec},
               .bodies = {{.schema = fusion_request_schema()}},
               .answers = {{.description = "What became of it.",
                            .content = {{.schema = response_schema()}}},
                           {.status = 422,
                            .description = "A member that cannot be.",
                            .content = {{.schema = {{"type", "object"},
                                                    {"required", json::array{"detail"}}}}}}},
               .handler = [this](Call call) { return run_code(std::move(call)); }});
    table.add(
        {.id = "ping",
         .method = "GET",
         .path = "/v1/ping",
         .tag = "compatibility",
         .summary = "Whether the server answers, as SandboxFusion's clients ask",
         .answers = {{.description = "It does.", .content = {{.schema = {{"const", "pong"}}}}}},
         .handler = [](Call /*call*/) -> Task<HttpResponse> {
             co_return HttpResponse{.body = "\"pong\""};
         }});
}

Task<HttpResponse> SandboxFusionRoutes::run_code(Call call) {
    if (!is_json(call.request)) {
        co_return refuse_media_type();
    }
    const Result<json::object> body = read_object(call.request.body, kFusionExample);
    if (!body) {
        co_return refuse_member("body", body.error().message);
    }
    for (const std::string_view member : {"code", "language"}) {
        const json::value* value = body->if_contains(member);
        if (value == nullptr || !value->is_string()) {
            co_return refuse_member(member, "a text is required");
        }
    }
    Result<execution::RunRequest> run = read_request(*body);
    Result<std::vector<std::string>> wanted = read_wanted(*body);
    if (!run || !wanted) {
        co_return refuse_member("body", (run ? wanted.error() : run.error()).message);
    }
    access::set_origin(*run, call.request);
    if (!wanted->empty()) {
        HttpResponse response = co_await run_and_fetch(std::move(*run), std::move(*wanted),
                                                       std::move(call.cancellation));
        co_return response;
    }
    const Result<RunResult> result =
        co_await executor_.execute(std::move(*run), std::move(call.cancellation));
    if (!result && execution::http_status(result.error().code) <= kBadRequests) {
        co_return refuse_member("body", execution::client_message(result.error()));
    }
    co_return result ? answer(*result, {}) : refuse(result.error());
}

Task<HttpResponse> SandboxFusionRoutes::run_and_fetch(execution::RunRequest run,
                                                      std::vector<std::string> wanted,
                                                      engine::CancellationPtr cancellation) {
    const execution::FileName place{.principal = run.principal,
                                    .conversation_id = "run_code-" + make_uuid()};
    run.conversation_id = place.conversation_id;
    const Result<RunResult> result =
        co_await executor_.execute(std::move(run), std::move(cancellation));
    json::object files;
    if (result) {
        for (const std::string& path : wanted) {
            execution::FileName name = place;
            name.path = path;
            const Result<execution::FilePart> part = co_await executor_.conversations().read_file(
                std::move(name), {.offset = 0, .length = engine::kMostRead});
            if (part && part->file.size == part->content.size()) {
                files[path] = encode_base64(part->content);
            }
        }
    }
    [[maybe_unused]] const Result<void> forgotten =
        co_await executor_.conversations().delete_conversation(place.principal,
                                                               place.conversation_id);
    co_return result ? answer(*result, std::move(files)) : refuse(result.error());
}

}  // namespace belljar::api
