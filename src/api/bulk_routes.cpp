#include "api/bulk_routes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <cerrno>
#include <memory>

#include "access/gate.h"
#include "api/file_answers.h"
#include "api/file_headers.h"
#include "api/file_operations.h"
#include "api/query.h"
#include "api/refusals.h"
#include "base/ascii.h"
#include "base/beneath.h"
#include "storage/multipart.h"
#include "storage/zip_reader.h"

namespace belljar::api {
namespace {

using access::HttpRequest;
using access::HttpResponse;
using execution::FileName;
using execution::FileView;
using storage::ByteSink;
using storage::IncomingFile;

constexpr std::size_t kPiece = 256 * 1024;
constexpr std::size_t kMostShown = 1000;  // of the files that were written
constexpr std::size_t kArchivePage = 500;
constexpr std::size_t kMostArchived = 50'000;

Result<void> read_part(const Fd& file, std::uint64_t offset, std::uint64_t length,
                       const ByteSink& sink) {
    std::string piece(kPiece, '\0');
    while (length > 0) {
        const std::size_t wanted =
            static_cast<std::size_t>(std::min<std::uint64_t>(length, piece.size()));
        const ssize_t count = ::pread(file.get(), piece.data(), wanted, static_cast<off_t>(offset));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return fail(count < 0 ? system_error("read a file")
                                  : Error{.message = "a file has become shorter"});
        }
        BJ_TRY_VOID(sink({piece.data(), static_cast<std::size_t>(count)}));
        offset += static_cast<std::uint64_t>(count);
        length -= static_cast<std::uint64_t>(count);
    }
    return {};
}

using SharedBody = std::shared_ptr<const BodySource>;

// Parts of a form as files that come in: each is a stretch of the body.
class FormFiles final : public storage::PartSink {
   public:
    explicit FormFiles(SharedBody body) : body_(std::move(body)) {}

    Result<void> on_part(const storage::PartHead& head, std::uint64_t offset) override {
        if (!head.file_name) {
            return fail(ErrorCode::InvalidArgument,
                        "each part of the form has to be a file, with a file name");
        }
        if (!is_plain_path(*head.file_name)) {
            return fail(ErrorCode::InvalidArgument,
                        "a file's name has to be a relative path without \"..\", in at most 1024 "
                        "bytes of UTF-8");
        }
        name_ = *head.file_name;
        offset_ = offset;
        return {};
    }

    Result<void> on_end(std::uint64_t length) override {
        files_.push_back(
            {.path = name_,
             .content = [body = body_, offset = offset_, length](const ByteSink& sink) {
                 return read_part(body->file, offset, length, sink);
             }});
        return {};
    }

    [[nodiscard]] std::vector<IncomingFile> take() { return std::move(files_); }

   private:
    SharedBody body_;
    std::string name_;
    std::uint64_t offset_ = 0;
    std::vector<IncomingFile> files_;
};

Result<std::vector<IncomingFile>> read_form(const SharedBody& body, const std::string& boundary) {
    FormFiles files(body);
    storage::MultipartParser parser(boundary, files);
    BJ_TRY_VOID(read_part(body->file, 0, body->size,
                          [&parser](std::string_view data) { return parser.feed(data); }));
    BJ_TRY_VOID(parser.finish());
    return files.take();
}

// Holds what the reader borrows.
struct OpenArchive {
    SharedBody body{};
    storage::ZipReader reader;
};

Result<std::vector<IncomingFile>> read_archive(const SharedBody& body) {
    BJ_TRY(storage::ZipReader reader, storage::ZipReader::open(body->file, body->size, {}));
    const auto opened =
        std::make_shared<const OpenArchive>(OpenArchive{.body = body, .reader = std::move(reader)});
    std::vector<IncomingFile> files;
    for (const storage::ZipEntry& entry : opened->reader.files()) {
        files.push_back(
            {.path = entry.path,
             .content = [opened,
                         entry](const ByteSink& sink) { return opened->reader.read(entry, sink); },
             .executable = entry.executable});
    }
    return files;
}

// Where the files go, and what becomes of those that are there.
Result<engine::FileImport> read_order(const Call& call) {
    BJ_TRY(const Query query, Query::parse(call.request.query, {"path", "overwrite"}));
    engine::FileImport order{.where = {.principal = call.request.principal,
                                       .conversation_id = call.path_value("conversation_id"),
                                       .path = query.text("path").value_or("")}};
    const std::string overwrite = query.text("overwrite").value_or("false");
    if (overwrite != "true" && overwrite != "false") {
        return fail(ErrorCode::InvalidArgument, "\"overwrite\" must be true or false");
    }
    if (!order.where.path.empty() && !is_plain_path(order.where.path)) {
        return fail(ErrorCode::InvalidArgument, "\"path\" must be the path of a folder");
    }
    order.existing =
        overwrite == "true" ? execution::Existing::Replaced : execution::Existing::Kept;
    return order;
}

bool has_type(const HttpRequest& request, std::string_view type) {
    const std::string header = request.header("Content-Type").value_or("");
    return to_lower(header.substr(0, header.find_first_of("; \t"))) == type;
}

// Gives back the place that a request had among those of its kind.
class Turn {
   public:
    explicit Turn(std::size_t& count) : count_(count) { ++count_; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { --count_; }

   private:
    std::size_t& count_;
};

// Below the folder that was asked for.
std::string name_inside(const std::string& path, const std::string& folder) {
    return folder.empty() ? path : path.substr(folder.size() + 1);
}

std::string archive_file_name(const FileName& where) {
    const std::string& folder = where.path;
    const std::string last = folder.substr(folder.rfind('/') + 1);  // npos + 1 is 0
    return (last.empty() ? std::string("files") : last) + ".zip";
}

}  // namespace

// An archive that is being made. Its file has no name any more once the answer is sent.
struct BulkRoutes::Archive {
    explicit Archive(storage::StagedFile file) : staged(std::move(file)), writer(staged.file()) {}

    storage::StagedFile staged;
    storage::ZipWriter writer;
    std::uint64_t bytes = 0;
    std::size_t entries = 0;
};

void BulkRoutes::add_to(OperationTable& table) {
    Operation upload = upload_files_operation(options_.upload);
    upload.handler = [this](Call call) { return this->upload(std::move(call)); };
    table.add(std::move(upload));
    Operation import = import_files_operation(options_.upload);
    import.handler = [this](Call call) { return this->import(std::move(call)); };
    table.add(std::move(import));
    Operation archive = archive_files_operation();
    archive.handler = [this](Call call) { return this->archive(std::move(call)); };
    table.add(std::move(archive));
}

Task<HttpResponse> BulkRoutes::upload(Call call) {
    Result<engine::FileImport> order = read_order(call);
    if (!order) {
        co_return refuse(order.error());
    }
    if (!has_type(call.request, "multipart/form-data")) {
        co_return access::make_refusal(415, "send a form: Content-Type: multipart/form-data");
    }
    const Result<std::string> boundary =
        storage::multipart_boundary(call.request.header("Content-Type").value_or(""));
    if (!boundary) {
        co_return refuse(boundary.error());
    }
    Result<BodySource> source = open_body(call.request);
    if (!source) {
        co_return refuse(source.error());
    }
    const auto body = std::make_shared<const BodySource>(std::move(*source));
    Result<std::vector<IncomingFile>> files =
        co_await threads_.run([body, boundary = *boundary] { return read_form(body, boundary); });
    if (!files) {
        co_return refuse(files.error());
    }
    if (files->empty()) {
        co_return access::make_refusal(400, "the form has no files");
    }
    order->files = std::move(*files);
    HttpResponse response = co_await write(std::move(*order));
    co_return response;
}

Task<HttpResponse> BulkRoutes::import(Call call) {
    Result<engine::FileImport> order = read_order(call);
    if (!order) {
        co_return refuse(order.error());
    }
    if (!has_type(call.request, "application/zip")) {
        co_return access::make_refusal(415, "send an archive: Content-Type: application/zip");
    }
    Result<BodySource> source = open_body(call.request);
    if (!source) {
        co_return refuse(source.error());
    }
    const auto body = std::make_shared<const BodySource>(std::move(*source));
    Result<std::vector<IncomingFile>> files =
        co_await threads_.run([body] { return read_archive(body); });
    if (!files) {
        co_return refuse(files.error());
    }
    order->files = std::move(*files);
    HttpResponse response = co_await write(std::move(*order));
    co_return response;
}

// A file whose content was there already is as good as written.
Task<HttpResponse> BulkRoutes::write(engine::FileImport order) {
    const std::size_t count = order.files.size();
    const Result<std::vector<engine::PutFile>> written =
        co_await files_.import_files(std::move(order));
    if (!written) {
        co_return refuse(written.error());
    }
    json::array files;
    for (const engine::PutFile& one : *written) {
        if (files.size() < kMostShown) {
            files.push_back(file_json(one.file));
        }
    }
    co_return HttpResponse{
        .status = 201,
        .body = to_text(json::object{{"files", std::move(files)}, {"count", count}})};
}

Task<HttpResponse> BulkRoutes::archive(Call call) {
    FileName where{.principal = call.request.principal,
                   .conversation_id = call.path_value("conversation_id")};
    const Result<Query> query = Query::parse(call.request.query, {"path"});
    if (!query) {
        co_return refuse(query.error());
    }
    where.path = query->text("path").value_or("");
    if (!where.path.empty() && !is_plain_path(where.path)) {
        co_return access::make_refusal(400, "\"path\" must be the path of a folder");
    }
    const Result<execution::ConversationView> known =
        co_await files_.find_conversation(where.principal, where.conversation_id);
    if (!known) {
        co_return refuse(known.error());
    }
    if (archives_ >= kMostArchives) {
        co_return refuse(Error{.code = ErrorCode::Overloaded,
                               .message = "too many archives are being made; try again later"});
    }
    const Turn turn(archives_);
    FileName staging = where;
    staging.path = "archive.zip";  // no file of that name is touched
    Result<storage::StagedFile> staged = co_await files_.stage_file(std::move(staging));
    if (!staged) {
        co_return refuse(staged.error());
    }
    const auto archive = std::make_shared<Archive>(std::move(*staged));
    const Result<std::uint64_t> size = co_await fill(archive, where);
    if (!size) {
        co_return refuse(size.error());
    }
    Fd file(::fcntl(archive->staged.file().get(), F_DUPFD_CLOEXEC, 0));
    if (!file.valid()) {
        co_return refuse(system_error("open an archive"));
    }
    co_return HttpResponse{
        .content_type = "application/zip",
        .headers = {{"Content-Disposition",
                     content_disposition(Presentation::Attachment, archive_file_name(where))}},
        .file = access::FilePart{.file = std::move(file), .length = *size}};
}

// How many bytes it has.
Task<Result<std::uint64_t>> BulkRoutes::fill(std::shared_ptr<Archive> archive, FileName where) {
    execution::FileQuery query{.where = where,
                               .show = execution::Show::FilesAndDirectories,
                               .page = {.limit = kArchivePage}};
    do {
        BJ_CO_TRY(const execution::FilePage page, co_await files_.page_files(query));
        for (const FileView& file : page.files) {
            archive->bytes += file.size;
            if (++archive->entries > kMostArchived || archive->bytes > options_.archive.count) {
                co_return fail(ErrorCode::TooLarge,
                               "this is too much for one archive; take a part of it");
            }
            FileName name = where;
            name.path = file.path;
            storage::ZipWriter::Entry entry{.path = name_inside(file.path, where.path),
                                            .modified = file.modified,
                                            .directory = file.directory};
            BJ_CO_TRY_VOID(co_await add(archive, std::move(name), std::move(entry)));
        }
        query.page.after = page.next;
    } while (!query.page.after.empty());
    if (archive->entries == 0 && !where.path.empty()) {
        co_return fail(ErrorCode::NotFound, "there is no such folder in this conversation");
    }
    Result<std::uint64_t> size =
        co_await threads_.run([archive] { return archive->writer.finish(); });
    co_return size;
}

// What has been deleted meanwhile is not there any more.
Task<Result<void>> BulkRoutes::add(std::shared_ptr<Archive> archive, FileName name,
                                   storage::ZipWriter::Entry entry) {
    auto opened = std::make_shared<engine::OpenFile>();
    if (!entry.directory) {
        Result<engine::OpenFile> file =
            co_await files_.open_file(std::move(name), execution::Digest::Omitted);
        if (!file) {
            co_return file.error().code == ErrorCode::NotFound ? Result<void>{}
                                                               : fail(file.error());
        }
        *opened = std::move(*file);
    }
    Result<void> added = co_await threads_.run([archive, opened, entry]() -> Result<void> {
        BJ_TRY_VOID(archive->writer.begin(entry));
        if (!entry.directory) {
            BJ_TRY_VOID(read_part(
                opened->file, 0, opened->view.size,
                [&archive](std::string_view data) { return archive->writer.append(data); }));
        }
        return archive->writer.end();
    });
    co_return added;
}

}  // namespace belljar::api
