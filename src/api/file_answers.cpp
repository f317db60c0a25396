#include "api/file_answers.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "access/gate.h"
#include "api/byte_range.h"
#include "api/file_headers.h"
#include "api/refusals.h"
#include "base/utf8.h"

namespace belljar::api {
namespace {

using access::HttpRequest;
using access::HttpResponse;
using execution::Digest;
using execution::FileName;
using execution::FileView;

// Scripts in a page, frames, forms: nothing of a guest runs with the rights of our pages.
constexpr std::string_view kSandbox =
    "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'";

HttpResponse refuse_range(std::uint64_t size) {
    HttpResponse response = access::make_refusal(
        416, fmt::format("the range lies beyond the {} bytes there are", size));
    response.headers.emplace_back("Content-Range", fmt::format("bytes */{}", size));
    return response;
}

void add_validators(HttpResponse& response, const FileView& file) {
    if (std::string tag = entity_tag(file); !tag.empty()) {
        response.headers.emplace_back("ETag", std::move(tag));
    }
    response.headers.emplace_back("Last-Modified", http_date(file.modified));
    response.headers.emplace_back("Cache-Control", "private, no-cache");
}

HttpResponse send_open_file(const HttpRequest& request, engine::OpenFile opened) {
    const FileView& view = opened.view;
    const Result<Freshness> freshness = judge_freshness(request, view);
    if (!freshness) {
        return refuse(freshness.error());
    }
    if (*freshness == Freshness::Failed) {
        return access::make_refusal(412, "the file is not what the request takes it for");
    }
    HttpResponse response{.content_type = content_type_of(view.mime)};
    add_validators(response, view);
    if (*freshness == Freshness::NotModified) {
        response.status = 304;
        return response;
    }
    const RangeChoice choice = choose_range(range_for(request, view), view.size);
    if (choice.kind == RangeKind::Unsatisfiable) {
        return refuse_range(view.size);
    }
    response.headers.emplace_back("Accept-Ranges", "bytes");
    response.headers.emplace_back("Content-Disposition",
                                  content_disposition(presentation_of(view.mime), view.path));
    response.headers.emplace_back("Content-Security-Policy", kSandbox);
    response.file = access::FilePart{.file = std::move(opened.file), .length = view.size};
    if (choice.kind == RangeKind::Part) {
        response.status = 206;
        response.file->offset = choice.range.offset;
        response.file->length = choice.range.length;
        response.headers.emplace_back(
            "Content-Range", fmt::format("bytes {}-{}/{}", choice.range.offset,
                                         choice.range.offset + choice.range.length - 1, view.size));
    }
    return response;
}

}  // namespace

json::object file_json(const FileView& file) {
    json::object object{{"path", make_valid_utf8(file.path)},
                        {"directory", file.directory},
                        {"size", file.size},
                        {"modified", iso_time(file.modified)}};
    if (!file.directory) {
        object["mime"] = file.mime;
    }
    if (const std::string tag = entity_tag(file); !tag.empty()) {
        object["etag"] = tag;
    }
    if (!file.sha256.empty()) {
        object["sha256"] = file.sha256;
    }
    return object;
}

std::string iso_time(execution::WallTime time) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                       fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

Task<HttpResponse> send_file(engine::Conversations* conversations, HttpRequest request,
                             FileName name) {
    Result<engine::OpenFile> opened = co_await conversations->open_file(name, Digest::Omitted);
    if (opened && entity_tag(opened->view).empty()) {
        opened = co_await conversations->open_file(name, Digest::Computed);
    }
    co_return opened ? send_open_file(request, std::move(*opened)) : refuse(opened.error());
}

Task<Result<FileView>> look_at(engine::Conversations* conversations, FileName name) {
    Result<FileView> file = co_await conversations->find_file(name, Digest::Omitted);
    if (file && entity_tag(*file).empty()) {
        file = co_await conversations->find_file(name, Digest::Computed);
    }
    co_return file;
}

Result<BodySource> open_body(const HttpRequest& request) {
    if (!request.body_file) {
        BJ_TRY(Fd file, make_sealed_file("body", request.body));
        return BodySource{.file = std::move(file), .size = request.body.size()};
    }
    Fd file(::fcntl(request.body_file->file.get(), F_DUPFD_CLOEXEC, 0));
    if (!file.valid()) {
        return fail(system_error("open a body again"));
    }
    return BodySource{.file = std::move(file), .size = request.body_file->size};
}

}  // namespace belljar::api
