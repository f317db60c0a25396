#include "api/output_routes.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "access/gate.h"
#include "api/byte_range.h"
#include "api/operation_parts.h"
#include "base/json.h"
#include "base/json_schema.h"
#include "execution/error_wire.h"

namespace belljar::api {
namespace {

using access::HttpRequest;
using access::HttpResponse;
using access::make_refusal;
using execution::OutputStream;

constexpr std::string_view kBefore = "/v1/runs/";
constexpr std::string_view kAfter = "/output";
constexpr std::array<OutputStream, 2> kStreams{OutputStream::Stdout, OutputStream::Stderr};
constexpr std::string_view kNothing =
    "no output of that run is kept: it is unknown, all it wrote is in its result, or it was "
    "removed to make room";

std::string uri_of(std::string_view execution_id, OutputStream stream) {
    return fmt::format("{}{}{}/{}", kBefore, execution_id, kAfter, execution::name_of(stream));
}

// What a stream consists of never changes, so its name is tag enough.
std::string tag_of(std::string_view execution_id, OutputStream stream) {
    return fmt::format("\"{}-{}\"", execution_id, execution::name_of(stream));
}

// The client continues a download only if it is still the same thing.
std::string wanted_range(const HttpRequest& request, const std::string& tag) {
    const bool same = request.header("If-Range").value_or(tag) == tag;
    return same ? request.header("Range").value_or("") : "";
}

HttpResponse refuse_range(std::uint64_t size) {
    HttpResponse response =
        make_refusal(416, fmt::format("the range lies beyond the {} bytes there are", size));
    response.headers.emplace_back("Content-Range", fmt::format("bytes */{}", size));
    return response;
}

storage::OutputOwner owner_of(const Call& call) {
    return {.execution_id = call.path_value("run_id"), .principal = call.request.principal};
}

constexpr std::string_view kKeptOutput = R"({
  "type": "object",
  "properties": {
    "execution_id": {"type": "string"},
    "streams": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "name": {"type": "string", "enum": ["stdout", "stderr"]},
          "bytes": {"type": "integer", "minimum": 0},
          "complete": {"type": "boolean"},
          "uri": {"type": "string"}
        },
        "required": ["name", "bytes", "complete", "uri"],
        "additionalProperties": false
      }
    }
  },
  "required": ["execution_id", "streams"],
  "additionalProperties": false
})";

}  // namespace

void OutputRoutes::add_to(OperationTable& table) {
    table.add_schema("KeptOutput", schema_from(kKeptOutput));
    table.add({.id = "listOutput",
               .method = "GET",
               .path = "/v1/runs/{run_id}/output",
               .tag = "runs",
               .summary = "What is kept of the output of a run",
               .description = "Only of runs that wrote more than their results could hold.",
               .rights = {access::Right::FilesRead},
               .answers = {answer_in("KeptOutput", "The streams that are kept.")},
               .handler = [this](Call call) { return answer_at_once(list(owner_of(call))); }});
    for (const OutputStream stream : kStreams) {
        const std::string name(execution::name_of(stream));
        Answer whole{.description = "The bytes that the program wrote.",
                     .content = {{.media_type = "application/octet-stream",
                                  .schema = {{"type", "string"}, {"format", "binary"}}}},
                     .headers = {header_parameter("ETag", "Of the stream.")}};
        Answer part = whole;
        part.status = 206;
        part.description = "The range that was asked for.";
        part.headers.push_back(header_parameter("Content-Range", "Which bytes these are."));
        table.add({.id = stream == OutputStream::Stdout ? "getStdout" : "getStderr",
                   .method = "GET",
                   .path = "/v1/runs/{run_id}/output/" + name,
                   .tag = "runs",
                   .summary = "The " + name + " of a run, uncut",
                   .rights = {access::Right::FilesRead},
                   .parameters = {header_parameter("Range", "One range of bytes."),
                                  header_parameter("If-Range", "Only if the ETag is still this.")},
                   .answers = {std::move(whole), std::move(part)},
                   .handler = [this, stream](Call call) {
                       return answer_at_once(send(call.request, owner_of(call), stream));
                   }});
    }
}

HttpResponse OutputRoutes::list(const storage::OutputOwner& owner) const {
    const std::optional<storage::StoredOutput> output =
        store_ == nullptr ? std::nullopt : store_->find(owner);
    if (!output) {
        return make_refusal(404, kNothing);
    }
    json::array streams;
    for (const OutputStream stream : kStreams) {
        if (const auto& stored = (*output)[static_cast<std::size_t>(stream)]) {
            streams.push_back({{"name", execution::name_of(stream)},
                               {"bytes", stored->bytes},
                               {"complete", !stored->cut},
                               {"uri", uri_of(owner.execution_id, stream)}});
        }
    }
    return {.body = to_text(json::object{{"execution_id", owner.execution_id},
                                         {"streams", std::move(streams)}})};
}

HttpResponse OutputRoutes::send(const HttpRequest& request, const storage::OutputOwner& owner,
                                OutputStream stream) const {
    if (store_ == nullptr) {
        return make_refusal(404, kNothing);
    }
    Result<storage::OpenStream> opened = store_->open_stream(owner, stream);
    if (!opened) {
        return make_refusal(execution::http_status(opened.error().code),
                            execution::client_message(opened.error()));
    }
    const std::string tag = tag_of(owner.execution_id, stream);
    const RangeChoice choice = choose_range(wanted_range(request, tag), opened->bytes);
    if (choice.kind == RangeKind::Unsatisfiable) {
        return refuse_range(opened->bytes);
    }
    // A guest chose these bytes: never something that a browser shows or runs.
    HttpResponse response{
        .content_type = "application/octet-stream",
        .headers = {{"Accept-Ranges", "bytes"},
                    {"ETag", tag},
                    {"Content-Disposition",
                     fmt::format("attachment; filename=\"{}-{}\"", owner.execution_id,
                                 execution::name_of(stream))}},
        .file = access::FilePart{.file = std::move(opened->file), .length = opened->bytes}};
    if (choice.kind == RangeKind::Part) {
        response.status = 206;
        response.file->offset = choice.range.offset;
        response.file->length = choice.range.length;
        response.headers.emplace_back(
            "Content-Range",
            fmt::format("bytes {}-{}/{}", choice.range.offset,
                        choice.range.offset + choice.range.length - 1, opened->bytes));
    }
    return response;
}

}  // namespace belljar::api
