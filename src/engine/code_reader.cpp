#include "engine/code_reader.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/json.h"
#include "runner/manifest.h"

namespace belljar::engine {
namespace {

constexpr auto kTime = std::chrono::seconds(20);
constexpr Bytes kOutput = kibibytes(128);

}  // namespace

Result<execution::RunRequest> reading_request(const CodeToRead& code) {
    const bool is_python = code.language == "python";
    execution::RunRequest request{.principal = code.principal,
                                  .language = is_python ? "python" : "javascript",
                                  .language_given = true,
                                  .timeout = kTime,
                                  .output = kOutput,
                                  .author = execution::Author::Belljar};
    const std::string folder = is_python ? "python/" : "node/";
    const std::string ending = is_python ? ".py" : ".cjs";
    BJ_TRY(const std::string scan, runner::embedded_guest_program(folder + "scan" + ending));
    BJ_TRY(const std::string read, runner::embedded_guest_program(folder + "validate" + ending));
    request.code = scan + "\n" + read;
    json::object input{{"code", code.code}, {"language", code.language}};
    if (!code.more.empty()) {
        input["more"] = json::array(code.more.begin(), code.more.end());
    }
    request.stdin_text = to_text(input);
    if (!is_python) {
        BJ_TRY(request.files["acorn.cjs"], runner::embedded_guest_program("node/acorn.cjs"));
    }
    if (code.language == "typescript") {
        BJ_TRY(request.files["swc.cjs"], runner::embedded_guest_program("node/swc.cjs"));
    }
    return request;
}

policy::Reading reading_of(const execution::RunResult& result) {
    if (!result.success()) {
        return policy::unreadable(fmt::format("the interpreter could not read the program ({})",
                                              execution::name_of(result.status)));
    }
    const Result<json::value> value = parse_json(result.result_json.value_or("null"));
    return value ? policy::parse_reading(*value)
                 : policy::unreadable("the program is too large to be read");
}

}  // namespace belljar::engine
