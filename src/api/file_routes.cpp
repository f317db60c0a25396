#include "api/file_routes.h"

#include <fcntl.h>

#include <boost/json/array.hpp>

#include "access/gate.h"
#include "api/file_answers.h"
#include "api/file_headers.h"
#include "api/file_operations.h"
#include "api/json_body.h"
#include "api/paging.h"
#include "api/query.h"
#include "api/refusals.h"
#include "base/beneath.h"
#include "storage/conversation_store.h"

namespace belljar::api {
namespace {

using access::HttpRequest;
using access::HttpResponse;
using execution::Digest;
using execution::FileCondition;
using execution::FileName;
using execution::FileView;

FileName name_in(const Call& call) {
    FileName name{.principal = call.request.principal,
                  .conversation_id = call.path_value("conversation_id")};
    if (const auto path = call.path_values.find("path"); path != call.path_values.end()) {
        name.path = path->second;
    }
    return name;
}

Result<FileName> file_in(const Call& call) {
    FileName name = name_in(call);
    if (!is_plain_path(name.path)) {
        return fail(ErrorCode::InvalidArgument,
                    "a path has to be relative and without \"..\", in at most 1024 bytes of UTF-8");
    }
    return name;
}

Result<bool> flag_in(const Query& query, std::string_view name, std::string_view otherwise) {
    const std::string value = query.text(name).value_or(std::string(otherwise));
    if (value != "true" && value != "false") {
        return fail(ErrorCode::InvalidArgument,
                    "\"" + std::string(name) + "\" must be true or false");
    }
    return value == "true";
}

struct ListOrder {
    execution::FileQuery files{};
    std::string prefix{};
};

Result<ListOrder> read_list(const Call& call) {
    BJ_TRY(const Query query,
           Query::parse(call.request.query,
                        {"limit", "cursor", "path", "recursive", "prefix", "directories"}));
    ListOrder order{.files = {.where = name_in(call)}, .prefix = query.text("prefix").value_or("")};
    order.files.where.path = query.text("path").value_or("");
    if (!order.files.where.path.empty() && !is_plain_path(order.files.where.path)) {
        return fail(ErrorCode::InvalidArgument, "\"path\" must be the path of a folder");
    }
    BJ_TRY(order.files.page, read_page(query));
    BJ_TRY(const bool recursive, flag_in(query, "recursive", "true"));
    BJ_TRY(const bool directories, flag_in(query, "directories", "false"));
    order.files.depth = recursive ? execution::Depth::Tree : execution::Depth::Directory;
    order.files.show = directories ? execution::Show::FilesAndDirectories : execution::Show::Files;
    return order;
}

Result<execution::FileMove> read_move(const std::string& body, FileName from) {
    BJ_TRY(const json::object object, read_object(body, R"({"to": "folder/name.txt"})"));
    execution::FileMove move{.from = std::move(from)};
    for (const auto& [key, value] : object) {
        if (key == "to" && value.is_string()) {
            move.to = std::string(value.get_string());
        } else if (key == "overwrite" && value.is_bool()) {
            move.existing =
                value.get_bool() ? execution::Existing::Replaced : execution::Existing::Kept;
        } else {
            return fail(ErrorCode::InvalidArgument,
                        "a move takes \"to\", a path, and \"overwrite\", true or false");
        }
    }
    if (!is_plain_path(move.to)) {
        return fail(ErrorCode::InvalidArgument,
                    "\"to\" has to be a relative path without \"..\", in at most 1024 bytes");
    }
    return move;
}

Result<std::optional<Duration>> read_lifetime(const json::value& value) {
    constexpr std::int64_t kMost = 315'360'000;  // ten years
    if (value.is_string() && value.get_string() == "never") {
        return Duration::zero();
    }
    const std::int64_t* seconds = value.if_int64();
    if (seconds == nullptr || *seconds < 1 || *seconds > kMost) {
        return fail(ErrorCode::InvalidArgument,
                    "\"expires_in\" must be seconds from 1 to 315360000, or \"never\"");
    }
    return std::chrono::seconds(*seconds);
}

Result<storage::UrlSigner::Order> read_order(const std::string& body, FileName where) {
    BJ_TRY(const json::object object, read_object(body, R"({"path": "plot.png"})"));
    storage::UrlSigner::Order order{.file = std::move(where)};
    for (const auto& [key, value] : object) {
        if (key == "path" && value.is_string()) {
            order.file.path = std::string(value.get_string());
        } else if (key == "expires_in") {
            BJ_TRY(order.lifetime, read_lifetime(value));
        } else if (key == "single_use" && value.is_bool()) {
            order.use = value.get_bool() ? storage::UrlSigner::Use::Single
                                         : storage::UrlSigner::Use::Repeated;
        } else if (key != "method" || !value.is_string() || value.get_string() != "GET") {
            return fail(ErrorCode::InvalidArgument,
                        "an address is made of \"path\", \"expires_in\", \"single_use\" and "
                        "\"method\", which is GET");
        }
    }
    if (!is_plain_path(order.file.path)) {
        return fail(ErrorCode::InvalidArgument,
                    "\"path\" has to be a relative path without \"..\", in at most 1024 bytes");
    }
    return order;
}

// Neither is a file of ours: the one is a part of it, the other is not what it would be read as.
Result<void> check_upload(const HttpRequest& request) {
    if (request.headers.contains("Content-Range") || request.headers.contains("Content-Encoding")) {
        return fail(ErrorCode::InvalidArgument,
                    "a file is written whole and as it is: without Content-Range and "
                    "Content-Encoding");
    }
    return {};
}

Result<std::variant<std::string, Fd, storage::StagedFile>> content_of(HttpRequest& request) {
    if (!request.body_file) {
        return std::move(request.body);
    }
    BJ_TRY(BodySource source, open_body(request));
    return std::move(source.file);
}

}  // namespace

void FileRoutes::add_to(OperationTable& table) {
    add_file_schemas(table);
    Operation list = list_files_operation();
    list.handler = [this](Call call) { return this->list(std::move(call)); };
    table.add(std::move(list));
    Operation get = get_file_operation();
    get.handler = [this](Call call) { return this->get(std::move(call)); };
    table.add(std::move(get));
    Operation put = put_file_operation(options_.upload);
    put.handler = [this](Call call) { return this->put(std::move(call)); };
    table.add(std::move(put));
    Operation remove = delete_file_operation();
    remove.handler = [this](Call call) { return this->remove(std::move(call)); };
    table.add(std::move(remove));
    Operation move = move_file_operation();
    move.handler = [this](Call call) { return this->move(std::move(call)); };
    table.add(std::move(move));
    Operation sign = sign_file_operation();
    sign.handler = [this](Call call) { return this->sign(std::move(call)); };
    table.add(std::move(sign));
}

Task<HttpResponse> FileRoutes::list(Call call) {
    Result<ListOrder> order = read_list(call);
    if (!order) {
        co_return refuse(order.error());
    }
    const Result<execution::FilePage> page = co_await files_.page_files(order->files);
    if (!page) {
        co_return refuse(page.error());
    }
    json::array files;
    for (const FileView& file : page->files) {
        if (file.path.starts_with(order->prefix)) {
            files.push_back(file_json(file));
        }
    }
    co_return make_page(call.request, {{"files", std::move(files)}}, page->next);
}

Task<HttpResponse> FileRoutes::get(Call call) {
    Result<FileName> name = file_in(call);
    const Result<Query> query = Query::parse(call.request.query, {"stat"});
    const Result<bool> stat = query ? flag_in(*query, "stat", "false") : fail(query.error());
    if (!name || !stat) {
        co_return refuse(name ? stat.error() : name.error());
    }
    if (*stat) {
        const Result<FileView> file = co_await files_.find_file(*name, Digest::Computed);
        co_return file ? HttpResponse{.body = to_text(file_json(*file))} : refuse(file.error());
    }
    HttpResponse response = co_await send_file(&files_, std::move(call.request), std::move(*name));
    co_return response;
}

Task<HttpResponse> FileRoutes::put(Call call) {
    const Result<FileName> name = file_in(call);
    if (!name) {
        co_return refuse(name.error());
    }
    if (const Result<void> checked = check_upload(call.request); !checked) {
        co_return refuse(checked.error());
    }
    auto content = content_of(call.request);
    if (!content) {
        co_return refuse(content.error());
    }
    const std::string location = call.request.path;
    Result<FileCondition> condition = co_await find_condition(std::move(call.request), *name);
    if (!condition) {
        co_return refuse(condition.error());
    }
    engine::FilePut order{
        .name = *name, .content = std::move(*content), .condition = std::move(*condition)};
    const Result<engine::PutFile> put = co_await files_.put_file(std::move(order));
    if (!put) {
        co_return refuse(put.error());
    }
    const bool created = put->kind == execution::FileChange::Kind::Created;
    HttpResponse response{.status = created ? 201U : 204U,
                          .headers = {{"ETag", entity_tag(put->file)}}};
    if (created) {
        response.body = to_text(file_json(put->file));
        response.headers.emplace_back("Location", location);
    }
    co_return response;
}

Task<HttpResponse> FileRoutes::remove(Call call) {
    const Result<FileName> name = file_in(call);
    const Result<Query> query = Query::parse(call.request.query, {"recursive"});
    const Result<bool> recursive =
        query ? flag_in(*query, "recursive", "false") : fail(query.error());
    if (!name || !recursive) {
        co_return refuse(name ? recursive.error() : name.error());
    }
    if (!*recursive) {
        const Result<void> is_file = co_await expect_file(*name);
        if (!is_file) {
            co_return refuse(is_file.error());
        }
    }
    const Result<FileCondition> condition = co_await find_condition(std::move(call.request), *name);
    if (!condition) {
        co_return refuse(condition.error());
    }
    const Result<std::uint64_t> removed = co_await files_.delete_tree(*name, *condition);
    co_return removed ? HttpResponse{.status = 204} : refuse(removed.error());
}

Task<HttpResponse> FileRoutes::move(Call call) {
    const Result<FileName> name = file_in(call);
    if (!name) {
        co_return refuse(name.error());
    }
    if (!is_json(call.request)) {
        co_return refuse_media_type();
    }
    Result<execution::FileMove> move = read_move(call.request.body, *name);
    if (!move) {
        co_return refuse(move.error());
    }
    Result<FileCondition> condition = co_await find_condition(std::move(call.request), *name);
    if (!condition) {
        co_return refuse(condition.error());
    }
    move->condition = std::move(*condition);
    const Result<FileView> moved = co_await files_.move_file(std::move(*move));
    co_return moved ? HttpResponse{.body = to_text(file_json(*moved))} : refuse(moved.error());
}

// Of a file or a conversation that is not there as well: who asks learns nothing about others, as
// the address leads to files of its own alone.
Task<HttpResponse> FileRoutes::sign(Call call) {
    if (options_.signer == nullptr) {
        co_return refuse(Error{.code = ErrorCode::Unsupported,
                               .message = "addresses of files are not signed here"});
    }
    if (!is_json(call.request)) {
        co_return refuse_media_type();
    }
    const Result<storage::UrlSigner::Order> order = read_order(call.request.body, name_in(call));
    if (!order) {
        co_return refuse(order.error());
    }
    if (const Result<void> checked = storage::check_conversation_id(order->file.conversation_id);
        !checked) {
        co_return refuse(checked.error());
    }
    const storage::UrlSigner::Issued issued =
        options_.signer->issue(*order, std::chrono::system_clock::now());
    json::object answer{{"url", issued.url}, {"expires", nullptr}};
    if (issued.expires) {
        answer["expires"] = iso_time(*issued.expires);
    }
    co_return HttpResponse{.body = to_text(answer)};
}

Task<Result<FileCondition>> FileRoutes::find_condition(HttpRequest request, FileName name) {
    BJ_CO_TRY(const WriteHeaders headers, read_write_headers(request));
    std::optional<FileView> file;
    if (headers.need_file()) {
        Result<FileView> found = co_await look_at(&files_, std::move(name));
        if (found) {
            file = std::move(*found);
        } else if (found.error().code != ErrorCode::NotFound) {
            co_return fail(found.error());
        }
    }
    co_return condition_of(headers, file);
}

Task<Result<void>> FileRoutes::expect_file(FileName name) {
    Result<FileView> file = co_await files_.find_file(name, Digest::Omitted);
    if (file && !file->directory) {
        co_return Result<void>{};
    }
    const execution::FileQuery inside{.where = name,
                                      .show = execution::Show::FilesAndDirectories,
                                      .depth = execution::Depth::Directory,
                                      .page = {.limit = 1}};
    const Result<execution::FilePage> page = co_await files_.page_files(inside);
    if ((file && file->directory) || (page && !page->files.empty())) {
        co_return fail(ErrorCode::Conflict,
                       "this is a folder; to delete it with all that is in it, ask with "
                       "recursive=true");
    }
    co_return fail(file.error());
}

}  // namespace belljar::api
