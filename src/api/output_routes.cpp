#include "api/output_routes.h"

#include <fmt/format.h>

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "access/gate.h"
#include "api/byte_range.h"
#include "base/json.h"
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

HttpResponse refuse_method() {
    HttpResponse response = make_refusal(405, "this path does not take that method");
    response.headers.emplace_back("Allow", "GET, HEAD");
    return response;
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

}  // namespace

std::optional<HttpResponse> OutputRoutes::answer(const HttpRequest& request) const {
    std::string_view path = request.path;
    const std::size_t end = path.find(kAfter, kBefore.size());
    if (!path.starts_with(kBefore) || end == std::string_view::npos) {
        return std::nullopt;
    }
    const storage::OutputOwner owner{
        .execution_id = std::string(path.substr(kBefore.size(), end - kBefore.size())),
        .principal = request.principal};
    const std::string_view rest = path.substr(end + kAfter.size());
    const bool reading = request.method == "GET" || request.method == "HEAD";
    if (rest.empty()) {
        return reading ? list(owner) : refuse_method();
    }
    for (const OutputStream stream : kStreams) {
        if (rest.starts_with('/') && rest.substr(1) == execution::name_of(stream)) {
            return reading ? send(request, owner, stream) : refuse_method();
        }
    }
    return std::nullopt;
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
