#include "runner/guest_protocol.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/base64.h"
#include "base/bytes.h"
#include "base/json.h"
#include "base/utf8.h"

namespace belljar::runner {
namespace {

constexpr std::size_t kMaxVariables = 1000;
constexpr std::size_t kMaxLine = mebibytes(3).count;  // a parsed value is far larger than its text
constexpr std::size_t kMaxOutputs = 64;
constexpr std::size_t kMaxRepresentation = mebibytes(8).count;
constexpr std::size_t kMaxOutputBytes = mebibytes(16).count;
constexpr std::size_t kMaxJson = mebibytes(1).count;
constexpr std::size_t kMaxJsonBytes = mebibytes(4).count;
constexpr std::size_t kMaxMime = 127;

std::optional<std::string> text_member(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains(key);
    if (value == nullptr || !value->is_string()) {
        return std::nullopt;
    }
    return std::string(value->get_string());
}

struct Range {
    int lowest;
    int highest;
};

std::optional<int> int_member(const json::object& object, std::string_view key, Range range) {
    const json::value* value = object.if_contains(key);
    if (value == nullptr || !value->is_int64() || value->get_int64() < range.lowest ||
        value->get_int64() > range.highest) {
        return std::nullopt;
    }
    return static_cast<int>(value->get_int64());
}

std::vector<std::string> read_refused_imports(const json::object& report) {
    constexpr std::size_t kMost = 16;
    constexpr std::size_t kLongest = 256;
    std::vector<std::string> modules;
    const json::value* value = report.if_contains("refused_imports");
    if (value == nullptr || !value->is_array()) {
        return modules;
    }
    for (const json::value& module : value->get_array()) {
        if (module.is_string() && modules.size() < kMost) {
            modules.emplace_back(utf8_beginning(module.get_string(), kLongest));
        }
    }
    return modules;
}

std::optional<execution::GuestError> read_error(const json::object& report) {
    const json::value* value = report.if_contains("error");
    if (value == nullptr || !value->is_object()) {
        return std::nullopt;
    }
    const json::object& object = value->get_object();
    execution::GuestError error{.type = text_member(object, "type").value_or("Error"),
                                .message = text_member(object, "message").value_or(""),
                                .traceback = text_member(object, "traceback")};
    error.line = int_member(object, "line", {.lowest = 1, .highest = 999'999'999});
    error.sys_errno = int_member(object, "errno", {.lowest = -4096, .highest = 4096});
    error.path = text_member(object, "path");
    return error;
}

std::vector<std::string> read_variables(const json::object& report) {
    std::vector<std::string> names;
    const json::value* value = report.if_contains("variables");
    if (value == nullptr || !value->is_array()) {
        return names;
    }
    for (const json::value& name : value->get_array()) {
        if (name.is_string() && names.size() < kMaxVariables) {
            names.emplace_back(name.get_string());
        }
    }
    return names;
}

// RFC 6838 without parameters, in lower case only.
bool is_mime(std::string_view name) {
    constexpr std::string_view kMarks = "!#$&-^_.+";
    const auto is_part = [&](std::string_view part) {
        return !part.empty() && kMarks.find(part.front()) == std::string_view::npos &&
               std::ranges::all_of(part, [&](char c) {
                   return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                          kMarks.find(c) != std::string_view::npos;
               });
    };
    const std::size_t slash = name.find('/');
    return name.size() <= kMaxMime && slash != std::string_view::npos &&
           is_part(name.substr(0, slash)) && is_part(name.substr(slash + 1));
}

// Clients hand pictures on to models, which refuse a whole conversation over one that is none.
bool is_what_it_says(std::string_view mime, std::string_view data) {
    using namespace std::string_view_literals;
    if (mime == "image/png") {
        return data.starts_with("\x89PNG\r\n\x1A\n"sv);
    }
    if (mime == "image/jpeg") {
        return data.starts_with("\xFF\xD8\xFF"sv);
    }
    return mime != "image/gif" || data.starts_with("GIF8"sv);
}

// Takes the bytes of the outputs one after the other and keeps those that are what they should be.
class OutputReader {
   public:
    OutputReader(std::string_view bytes, execution::RunResult& result)
        : bytes_(bytes), result_(result) {}

    // False if the description is not one of exactly these bytes; the outputs are unusable then.
    bool read(const json::array& outputs) {
        for (const json::value& output : outputs) {
            if (!output.is_array() || !read_output(output.get_array())) {
                return false;
            }
        }
        return bytes_.empty();
    }

   private:
    bool read_output(const json::array& representations) {
        execution::Output output;
        for (const json::value& representation : representations) {
            const json::array* pair = representation.if_array();
            if (pair == nullptr || pair->size() != 2 || !(*pair)[0].is_string() ||
                !(*pair)[1].is_int64() || (*pair)[1].get_int64() < 0 ||
                static_cast<std::uint64_t>((*pair)[1].get_int64()) > bytes_.size()) {
                return false;
            }
            const auto size = static_cast<std::size_t>((*pair)[1].get_int64());
            const std::string mime((*pair)[0].get_string());
            if (result_.outputs.size() < kMaxOutputs && fits(mime, bytes_.substr(0, size))) {
                output.bundle[mime] = bytes_.substr(0, size);
            } else {
                ++result_.outputs_omitted;
            }
            bytes_.remove_prefix(size);
        }
        if (!output.bundle.empty()) {
            result_.outputs.push_back(std::move(output));
        }
        return true;
    }

    bool fits(const std::string& mime, std::string_view data) {
        if (!is_mime(mime) || data.size() > kMaxRepresentation ||
            taken_ + data.size() > kMaxOutputBytes || !is_what_it_says(mime, data)) {
            return false;
        }
        const execution::Encoding encoding = execution::encoding_of(mime);
        if (encoding == execution::Encoding::Text && !is_valid_utf8(data)) {
            return false;
        }
        if (encoding == execution::Encoding::Json) {
            if (data.size() > kMaxJson || taken_json_ + data.size() > kMaxJsonBytes ||
                !parse_json(data)) {
                return false;
            }
            taken_json_ += data.size();
        }
        taken_ += data.size();
        return true;
    }

    std::string_view bytes_;
    execution::RunResult& result_;
    std::size_t taken_ = 0;
    std::size_t taken_json_ = 0;
};

// The line and what follows it.
struct Parts {
    std::string_view line;
    std::string_view bytes;
};

Parts split(std::string_view text) {
    const std::size_t end = text.find('\n');
    return end == std::string_view::npos
               ? Parts{.line = text, .bytes = {}}
               : Parts{.line = text.substr(0, end), .bytes = text.substr(end + 1)};
}

bool read_outputs(const json::object& object, std::string_view bytes,
                  execution::RunResult& result) {
    const json::value* outputs = object.if_contains("outputs");
    if (outputs == nullptr) {
        return bytes.empty();
    }
    constexpr int kMost = 1'000'000;
    result.outputs_omitted = static_cast<std::uint64_t>(
        int_member(object, "omitted", {.lowest = 0, .highest = kMost}).value_or(0));
    if (outputs->is_array() && OutputReader(bytes, result).read(outputs->get_array())) {
        return true;
    }
    result.outputs.clear();
    result.outputs_omitted = 0;
    return false;
}

}  // namespace

std::string encode_guest_request(const execution::RunRequest& request, std::string_view mark) {
    json::value imports(nullptr);
    if (request.allowed_imports) {
        imports = json::array(request.allowed_imports->begin(), request.allowed_imports->end());
    }
    json::value of_profile(nullptr);
    if (request.profile_imports) {
        // One text: most programs never ask for any of them.
        of_profile = fmt::format("{}", fmt::join(request.profile_imports->modules, " "));
    }
    json::value reading(nullptr);
    if (request.reading) {
        const execution::ReadingOrder& order = *request.reading;
        reading = {{"stops", json::array(order.stops.begin(), order.stops.end())},
                   {"builtins", json::array(order.builtins.begin(), order.builtins.end())}};
    }
    json::object files;
    for (const auto& [path, content] : request.files) {
        files[path] = encode_base64(content);
    }
    json::object environment;
    for (const auto& [name, value] : request.environment) {
        environment[name] = value;
    }
    return to_text(
        json::object{{"code", request.code},
                     {"args", json::array(request.arguments.begin(), request.arguments.end())},
                     {"env", std::move(environment)},
                     {"files", std::move(files)},
                     {"allowed_imports", std::move(imports)},
                     {"profile_imports", std::move(of_profile)},
                     {"reading", std::move(reading)},
                     {"mark", mark}});
}

void apply_guest_report(GuestReport report, execution::RunResult& result) {
    if (report.text.empty()) {
        return;  // nobody awaited the request: a runner without a report
    }
    const bool is_signed = report.text.starts_with('\n');
    const Parts parts = split(report.text.substr(is_signed ? 1 : 0));
    if (parts.line.empty() && parts.bytes.empty()) {
        result.report = execution::Report::Missing;
        return;
    }
    result.report = execution::Report::Damaged;
    const Result<json::value> parsed =
        parts.line.size() > kMaxLine ? parse_json("") : parse_json(parts.line);
    if (!parsed || !parsed->is_object()) {
        return;
    }
    const json::object& object = parsed->get_object();
    if (!report.mark.empty() && text_member(object, "mark") != report.mark) {
        return;
    }
    if (!read_outputs(object, parts.bytes, result)) {
        return;
    }
    result.report = execution::Report::Whole;
    if (const json::value* value = object.if_contains("result");
        value != nullptr && !value->is_null()) {
        result.result_json = to_text(*value);
    }
    result.result_repr = text_member(object, "repr");
    result.variables = read_variables(object);
    result.error = read_error(object);
    result.refused_imports = read_refused_imports(object);
}

}  // namespace belljar::runner
