#include "api/file_operations.h"

#include <boost/json/array.hpp>

#include "api/operation_parts.h"
#include "api/paging.h"
#include "base/beneath.h"

namespace belljar::api {
namespace {

using access::Right;

constexpr std::string_view kTag = "files";
constexpr std::string_view kOneFile = "/v1/conversations/{conversation_id}/files/{path...}";

json::object choice_schema() { return {{"type", "boolean"}, {"default", false}}; }

json::object path_schema() {
    return {{"type", "string"}, {"minLength", 1}, {"maxLength", kLongestPath}};
}

std::map<std::string, json::object> file_path_schemas() {
    return {{"conversation_id", {{"type", "string"}, {"minLength", 1}, {"maxLength", 256}}},
            {"path", path_schema()}};
}

std::map<std::string, json::object> conversation_path_schemas() {
    return {{"conversation_id", {{"type", "string"}, {"minLength", 1}, {"maxLength", 256}}}};
}

Parameter if_match() {
    return header_parameter("If-Match", "Only if the file has this tag, or any with `*`.");
}

Parameter if_none_match() {
    return header_parameter("If-None-Match",
                            "Only if the file has not got this tag; `*`: only "
                            "if there is no such file.");
}

Parameter folder_parameter(std::string_view description) {
    return query_parameter("path", description, {{"type", "string"}, {"maxLength", kLongestPath}});
}

Parameter overwrite_parameter() {
    return query_parameter("overwrite", "Replaces files that are there.", choice_schema());
}

Parameter answer_header(std::string_view name, std::string_view description) {
    return header_parameter(name, description);
}

Answer bytes_answer(unsigned status, std::string_view description) {
    return {.status = status,
            .description = std::string(description),
            .content = {{.media_type = "*/*", .schema = {}}},
            .headers = {answer_header("ETag", "Names this content."),
                        answer_header("Last-Modified", "When it was changed.")}};
}

}  // namespace

Operation list_files_operation() {
    std::vector<Parameter> parameters = page_parameters();
    parameters.push_back(folder_parameter("The folder to list; the topmost if it is missing."));
    parameters.push_back(query_parameter(
        "recursive", "Whether to list what is in folders below, too; the default is true.",
        {{"type", "boolean"}, {"default", true}}));
    parameters.push_back(query_parameter("prefix", "Only paths that begin so."));
    parameters.push_back(
        query_parameter("directories", "Whether to list folders, too.", choice_schema()));
    return {.id = "listFiles",
            .method = "GET",
            .path = "/v1/conversations/{conversation_id}/files",
            .tag = std::string(kTag),
            .summary = "Lists the files of a conversation",
            .description =
                "Sorted by path. With `prefix` a page can have fewer items than "
                "`limit` although more follow.",
            .rights = {Right::FilesRead},
            .path_schemas = conversation_path_schemas(),
            .parameters = std::move(parameters),
            .answers = {page_answer("FilePage", "A page of the list.")}};
}

Operation get_file_operation() {
    Answer whole = bytes_answer(200, "The file, or with `stat` what is known about it.");
    Answer part = bytes_answer(206, "The range of it that was asked for.");
    part.headers.push_back(answer_header("Content-Range", "Which range."));
    return {.id = "getFile",
            .method = "GET",
            .path = std::string(kOneFile),
            .tag = std::string(kTag),
            .summary = "Reads a file, or a range of it",
            .description =
                "HEAD tells its size and tag. A browser gets it so that nothing in it "
                "runs; only harmless types are shown, others are downloaded.",
            .rights = {Right::FilesRead},
            .path_schemas = file_path_schemas(),
            .parameters =
                {query_parameter("stat", "Only what is known about the file, with its SHA-256.",
                                 choice_schema()),
                 header_parameter("Range", "One range of bytes, such as `bytes=0-99`."),
                 header_parameter("If-Range", "The range only if the file still has this tag."),
                 if_match(), header_parameter("If-None-Match", "304 if the file has this tag.")},
            .answers = {std::move(whole),
                        std::move(part),
                        {.status = 304, .description = "It has the tag that was named."}}};
}

Operation put_file_operation(Bytes limit) {
    return {.id = "putFile",
            .method = "PUT",
            .path = std::string(kOneFile),
            .tag = std::string(kTag),
            .summary = "Writes a file",
            .description =
                "Makes the conversation and the folders. The old content is there "
                "until all of the new one is, and after a crash one of the two.",
            .rights = {Right::FilesWrite},
            .path_schemas = file_path_schemas(),
            .parameters = {if_match(), if_none_match()},
            .bodies = {{.media_type = "application/octet-stream",
                        .schema = {{"type", "string"}, {"format", "binary"}},
                        .description = "The bytes of the file."}},
            .body_optional = true,
            .body_plan = access::BodyPlan{.limit = limit, .place = access::BodyPlan::Place::File},
            .answers = {{.status = 201,
                         .description = "It is new.",
                         .content = {{.schema = reference("File")}},
                         .headers = {answer_header("ETag", "Names this content.")}},
                        {.status = 204,
                         .description = "It was replaced.",
                         .headers = {answer_header("ETag", "Names this content.")}}}};
}

Operation delete_file_operation() {
    return {
        .id = "deleteFile",
        .method = "DELETE",
        .path = std::string(kOneFile),
        .tag = std::string(kTag),
        .summary = "Deletes a file, or a folder with all that is in it",
        .rights = {Right::FilesWrite},
        .path_schemas = file_path_schemas(),
        .parameters = {query_parameter("recursive", "Also a folder.", choice_schema()), if_match()},
        .answers = {{.status = 204, .description = "It is gone."}}};
}

Operation move_file_operation() {
    return {.id = "moveFile",
            .method = "PATCH",
            .path = std::string(kOneFile),
            .tag = std::string(kTag),
            .summary = "Moves or renames a file or a folder",
            .rights = {Right::FilesWrite},
            .path_schemas = file_path_schemas(),
            .parameters = {if_match()},
            .bodies = {{.schema = object_schema(
                            {{"to", path_schema()}, {"overwrite", choice_schema()}}, {"to"})}},
            .answers = {answer_in("File", "Where it is now.")}};
}

Operation sign_file_operation() {
    const json::object lifetime{
        {"description", "Seconds, or never. No more than the server allows."},
        {"oneOf",
         json::array{json::object{{"type", "integer"}, {"minimum", 1}, {"maximum", 315'360'000}},
                     json::object{{"const", "never"}}}}};
    return {
        .id = "signFile",
        .method = "POST",
        .path = "/v1/conversations/{conversation_id}/files:sign",
        .tag = std::string(kTag),
        .summary = "Makes an address of a file that needs no token",
        .description =
            "Whoever knows the address may read the file until it expires, also if "
            "the file is another one by then. The file need not exist yet.",
        .rights = {Right::FilesRead},
        .path_schemas = conversation_path_schemas(),
        .bodies = {{.schema = object_schema({{"path", path_schema()},
                                             {"method", json::object{{"enum", json::array{"GET"}}}},
                                             {"expires_in", lifetime},
                                             {"single_use", choice_schema()}},
                                            {"path"})}},
        .answers = {answer_in("SignedUrl", "The address.")}};
}

Operation upload_files_operation(Bytes limit) {
    return {
        .id = "uploadFiles",
        .method = "POST",
        .path = "/v1/conversations/{conversation_id}/files",
        .tag = std::string(kTag),
        .summary = "Writes several files out of a form",
        .description =
            "Each part is a file, under the name that the part gives it; slashes "
            "make folders. All of them are written, or none.",
        .rights = {Right::FilesWrite},
        .path_schemas = conversation_path_schemas(),
        .parameters = {folder_parameter("The folder that the files go to."), overwrite_parameter()},
        .bodies = {{.media_type = "multipart/form-data",
                    .schema = {{"type", "object"},
                               {"required", json::array{"file"}},
                               {"properties",
                                {{"file", {{"type", "string"}, {"format", "binary"}}}}}}}},
        .body_plan = access::BodyPlan{.limit = limit, .place = access::BodyPlan::Place::File},
        .answers = {answer_in("FilesWritten", "What was written.", 201)}};
}

Operation import_files_operation(Bytes limit) {
    return {
        .id = "importArchive",
        .method = "POST",
        .path = "/v1/conversations/{conversation_id}/import",
        .tag = std::string(kTag),
        .summary = "Writes the files of a ZIP archive",
        .description =
            "All of them are written, or none. Links, devices, encrypted entries, "
            "names that lead elsewhere, entries that share bytes and archives "
            "whose content is out of all proportion are refused. Empty folders "
            "are left out.",
        .rights = {Right::FilesWrite},
        .path_schemas = conversation_path_schemas(),
        .parameters = {folder_parameter("The folder that the files go to."), overwrite_parameter()},
        .bodies = {{.media_type = "application/zip",
                    .schema = {{"type", "string"}, {"format", "binary"}}}},
        .body_plan = access::BodyPlan{.limit = limit, .place = access::BodyPlan::Place::File},
        .answers = {answer_in("FilesWritten", "What was written.", 201)}};
}

Operation archive_files_operation() {
    return {.id = "archiveFiles",
            .method = "GET",
            .path = "/v1/conversations/{conversation_id}/archive",
            .tag = std::string(kTag),
            .summary = "All files of a conversation or a folder as a ZIP archive",
            .rights = {Right::FilesRead},
            .path_schemas = conversation_path_schemas(),
            .parameters = {folder_parameter("The folder; everything if it is missing.")},
            .answers = {{.description = "The archive.",
                         .content = {{.media_type = "application/zip",
                                      .schema = {{"type", "string"}, {"format", "binary"}}}}}}};
}

Operation signed_file_operation() {
    return {.id = "getSignedFile",
            .method = "GET",
            .path = "/files/{conversation_id}/{path...}",
            .tag = std::string(kTag),
            .summary = "Reads a file at an address that was signed",
            .description =
                "Made by `POST /v1/conversations/{conversation_id}/files:sign`, and "
                "named in the results of runs. 403 for every address that is not "
                "signed so or is over, 404 if the file is gone.",
            .door = access::Gate::Door::Open,
            .path_schemas = file_path_schemas(),
            .parameters = {query_parameter("sig", "The signature.", text_schema()),
                           query_parameter("exp", "When it ends, in seconds since 1970."),
                           query_parameter("by", "The owner, sealed."),
                           query_parameter("once", "The mark of an address for a single use."),
                           header_parameter("Range", "One range of bytes, such as `bytes=0-99`.")},
            .answers = {bytes_answer(200, "The file."),
                        bytes_answer(206, "The range of it that was asked for."),
                        {.status = 304, .description = "It has the tag that was named."}}};
}

void add_file_schemas(OperationTable& table) {
    const json::object text = text_schema();
    const json::object size{{"type", "integer"}, {"minimum", 0}};
    const json::object time{{"type", "string"}, {"format", "date-time"}};
    table.add_schema("File", object_schema({{"path", text},
                                            {"directory", json::object{{"type", "boolean"}}},
                                            {"size", size},
                                            {"modified", time},
                                            {"mime", text},
                                            {"etag", text},
                                            {"sha256", text}},
                                           {"path", "directory", "size", "modified"}));
    table.add_schema("FilePage", page_schema("files", "File"));
    table.add_schema(
        "FilesWritten",
        object_schema({{"files", json::object{{"type", "array"}, {"items", reference("File")}}},
                       {"count", size}},
                      {"files", "count"}));
    table.add_schema(
        "SignedUrl",
        object_schema({{"url", text},
                       {"expires", json::object{{"type", json::array{"string", "null"}},
                                                {"format", "date-time"}}}},
                      {"url", "expires"}));
}

}  // namespace belljar::api
