#include "mcp/tools_files.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <map>

#include "base/base64.h"
#include "base/utf8.h"
#include "engine/conversations.h"
#include "mcp/quote.h"
#include "mcp/tool_arguments.h"
#include "mcp/tool_schemas.h"

namespace belljar::mcp {
namespace {

using execution::FileName;
using execution::FilePart;
using execution::FileView;

constexpr std::size_t kMostEntries = 500;
constexpr std::uint64_t kUsualRead = std::uint64_t{64} * 1024;
constexpr std::uint64_t kLargestRead = std::uint64_t{1024} * 1024;

constexpr std::string_view kListInput = R"({
  "type": "object",
  "properties": {
    "conversation_id": {
      "type": "string",
      "minLength": 1,
      "maxLength": 256,
      "description": "The conversation, by the name that you give to execute_code."
    },
    "path": {
      "type": "string",
      "maxLength": 1024,
      "description": "A directory or a file, relative to /workspace; all if left out."
    },
    "recursive": {
      "type": "boolean",
      "default": false,
      "description": "Also what is in directories below."
    }
  },
  "required": ["conversation_id"],
  "additionalProperties": false
})";

constexpr std::string_view kListOutput = R"({
  "type": "object",
  "properties": {
    "conversation_id": {"type": "string"},
    "path": {"type": "string"},
    "entries": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "path": {"type": "string"},
          "type": {"type": "string", "enum": ["file", "directory"]},
          "size": {"type": "integer", "description": "Bytes; of a directory, of all files in it."},
          "files": {"type": "integer", "description": "In a directory."},
          "mime": {"type": "string"},
          "modified": {"type": "string"},
          "uri": {"type": "string"}
        },
        "required": ["path", "type", "size"]
      }
    },
    "omitted": {"type": "integer", "description": "Entries that were too many to be listed."}
  },
  "required": ["conversation_id", "path", "entries", "omitted"]
})";

constexpr std::string_view kReadInput = R"({
  "type": "object",
  "properties": {
    "conversation_id": {"type": "string", "minLength": 1, "maxLength": 256},
    "path": {
      "type": "string",
      "minLength": 1,
      "maxLength": 1024,
      "description": "Relative to /workspace."
    },
    "offset": {
      "type": "integer",
      "minimum": 0,
      "default": 0,
      "description": "The byte to begin with."
    },
    "length": {
      "type": "integer",
      "minimum": 1,
      "maximum": 1048576,
      "default": 65536,
      "description": "Bytes at most."
    },
    "encoding": {
      "type": "string",
      "enum": ["auto", "text", "base64"],
      "default": "auto",
      "description": "auto: text if it is text, pictures as pictures, anything else in base64."
    }
  },
  "required": ["conversation_id", "path"],
  "additionalProperties": false
})";

constexpr std::string_view kReadOutput = R"({
  "type": "object",
  "properties": {
    "path": {"type": "string"},
    "size": {"type": "integer", "description": "Of the whole file."},
    "mime": {"type": "string"},
    "modified": {"type": "string"},
    "uri": {"type": "string"},
    "offset": {"type": "integer"},
    "bytes": {"type": "integer", "description": "Of this part."},
    "encoding": {"type": "string", "enum": ["text", "base64"]},
    "content": {"type": "string"},
    "more": {"type": "boolean"},
    "next_offset": {"type": "integer", "description": "To read on with, if there is more."}
  },
  "required": ["path", "size", "mime", "modified", "uri", "offset", "bytes", "encoding", "content",
               "more"]
})";

constexpr std::string_view kWriteInput = R"({
  "type": "object",
  "properties": {
    "conversation_id": {"type": "string", "minLength": 1, "maxLength": 256},
    "path": {
      "type": "string",
      "minLength": 1,
      "maxLength": 1024,
      "description": "Relative to /workspace; directories are made."
    },
    "content": {"type": "string", "description": "The text of the file."},
    "content_base64": {"type": "string", "description": "Its bytes, in place of content."},
    "overwrite": {
      "type": "boolean",
      "default": true,
      "description": "False refuses to replace a file that is there."
    }
  },
  "required": ["conversation_id", "path"],
  "additionalProperties": false
})";

constexpr std::string_view kWriteOutput = R"({
  "type": "object",
  "properties": {
    "path": {"type": "string"},
    "size": {"type": "integer"},
    "mime": {"type": "string"},
    "modified": {"type": "string"},
    "uri": {"type": "string"},
    "created": {"type": "boolean", "description": "False if a file was replaced."}
  },
  "required": ["path", "size", "mime", "modified", "uri", "created"]
})";

// "./a/" is "a", and "." is everything.
std::string plain_path(std::string path) {
    for (; path.starts_with("./"); path.erase(0, 2)) {
    }
    for (; path.ends_with('/'); path.pop_back()) {
    }
    return path == "." ? "" : path;
}

FileName file_name(const ToolCall& call) {
    return {.principal = call.principal,
            .conversation_id = text_of(call.arguments, "conversation_id"),
            .path = plain_path(text_of(call.arguments, "path"))};
}

std::string format_time(execution::WallTime time) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                       fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

json::object to_json(const FileView& file, const FileName& name) {
    return {{"path", make_valid_utf8(file.path)},
            {"size", file.size},
            {"mime", make_valid_utf8(file.mime)},
            {"modified", format_time(file.modified)},
            {"uri", engine::file_uri(name.conversation_id, file.path)}};
}

struct Folder {
    std::uint64_t files = 0;
    std::uint64_t size = 0;
};

// What is directly in the directory: its files, and directories in place of what is in them.
json::array direct_entries(const std::vector<FileView>& files, const FileName& where) {
    const std::size_t skip = where.path.empty() ? 0 : where.path.size() + 1;
    std::map<std::string, Folder> folders;
    json::array entries;
    for (const FileView& file : files) {
        const std::size_t slash = file.path.find('/', std::min(skip, file.path.size()));
        if (slash != std::string::npos) {
            Folder& folder = folders[file.path.substr(0, slash)];
            ++folder.files;
            folder.size += file.size;
            continue;
        }
        json::object entry = to_json(file, where);
        entry["type"] = "file";
        entries.push_back(std::move(entry));
    }
    for (const auto& [path, folder] : folders) {
        entries.push_back({{"path", make_valid_utf8(path)},
                           {"type", "directory"},
                           {"size", folder.size},
                           {"files", folder.files}});
    }
    return entries;
}

json::array all_entries(const std::vector<FileView>& files, const FileName& where) {
    json::array entries;
    for (const FileView& file : files) {
        json::object entry = to_json(file, where);
        entry["type"] = "file";
        entries.push_back(std::move(entry));
    }
    return entries;
}

std::string entry_line(const json::object& entry) {
    const std::string_view path = entry.at("path").get_string();
    const auto size = entry.at("size").to_number<std::uint64_t>();
    if (entry.at("type") == "directory") {
        return fmt::format("{}/ ({} files, {} bytes)\n", path,
                           entry.at("files").to_number<std::uint64_t>(), size);
    }
    return fmt::format("{} ({} bytes, {})\n", path, size, entry.at("mime").get_string().c_str());
}

bool is_picture(std::string_view mime) {
    return mime == "image/png" || mime == "image/jpeg" || mime == "image/gif" ||
           mime == "image/webp";
}

// Bytes at the end that begin a character and do not finish it.
std::size_t unfinished(std::string_view text) {
    for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
        const auto byte = static_cast<unsigned char>(text[text.size() - back]);
        if (byte >= 0xC0U) {
            const std::size_t length = byte >= 0xF0U ? 4 : byte >= 0xE0U ? 3 : 2;
            return length > back ? back : 0;
        }
        if (byte < 0x80U) {
            return 0;
        }
    }
    return 0;
}

enum class Form { Text, Base64 };

// How to show it. A part of a text ends with a whole character, so that the next one begins so.
Form choose_form(FilePart& part, std::string_view encoding) {
    if (encoding == "base64") {
        return Form::Base64;
    }
    const bool is_last = part.offset + part.content.size() >= part.file.size;
    const std::size_t tail = is_last ? 0 : unfinished(part.content);
    const std::string_view whole =
        std::string_view(part.content).substr(0, part.content.size() - tail);
    const bool is_text = is_valid_utf8(whole) && !whole.contains('\0');
    if (!is_text && encoding != "text") {
        return Form::Base64;
    }
    if (!whole.empty()) {
        part.content.resize(whole.size());
    }
    return Form::Text;
}

ToolOutcome show_part(FilePart part, const FileName& name, std::string_view encoding) {
    const bool as_picture = encoding == "auto" && is_picture(part.file.mime) && part.offset == 0 &&
                            part.content.size() == part.file.size;
    const Form form = as_picture ? Form::Base64 : choose_form(part, encoding);
    const std::uint64_t end = part.offset + part.content.size();
    const bool more = end < part.file.size && !part.content.empty();
    json::object shown = to_json(part.file, name);
    shown["offset"] = part.offset;
    shown["bytes"] = part.content.size();
    shown["encoding"] = form == Form::Text ? "text" : "base64";
    shown["content"] =
        form == Form::Text ? make_valid_utf8(part.content) : encode_base64(part.content);
    shown["more"] = more;
    if (more) {
        shown["next_offset"] = end;
    }
    ToolOutcome outcome;
    outcome.text = as_picture ? fmt::format("{} ({} bytes)", part.file.path, part.file.size)
                              : std::string(shown.at("content").get_string());
    if (more) {
        outcome.text += fmt::format("\n[bytes {} to {} of {}; read on with offset: {}]",
                                    part.offset, end - 1, part.file.size, end);
    }
    if (as_picture) {
        outcome.more.emplace_back(Picture{.mime = part.file.mime, .data = std::move(part.content)});
    }
    outcome.structured = std::move(shown);
    return outcome;
}

Result<std::string> content_to_write(const json::object& arguments) {
    const bool has_text = is_given(arguments, "content");
    if (has_text == is_given(arguments, "content_base64")) {
        return fail(ErrorCode::InvalidArgument, "give either \"content\" or \"content_base64\"");
    }
    if (has_text) {
        return text_of(arguments, "content");
    }
    Result<std::string> content = decode_base64(text_of(arguments, "content_base64"));
    if (!content) {
        return fail(ErrorCode::InvalidArgument, "\"content_base64\" is not base64");
    }
    return content;
}

}  // namespace

ToolDefinition define_list_files(const engine::SandboxInfo& /*info*/) {
    constexpr std::string_view kTitle = "List the files of a conversation";
    return {.name = "list_files",
            .title = std::string(kTitle),
            .description = fmt::format(
                "Lists the files that a conversation keeps in /workspace, with sizes and types. "
                "Use it to see what earlier runs with the same conversation_id have written before "
                "you read it or compute with it. At most {} entries come back; omitted says how "
                "many more there are. Example: {{\"conversation_id\": \"trip\", \"recursive\": "
                "true}}",
                kMostEntries),
            .input_schema = schema_from(kListInput),
            .output_schema = schema_from(kListOutput),
            .annotations = annotations_for(kTitle, Effect::Nothing),
            .icon = icon_of(Symbol::Folder)};
}

ToolDefinition define_read_file(const engine::SandboxInfo& /*info*/) {
    constexpr std::string_view kTitle = "Read a file of a conversation";
    return {.name = "read_file",
            .title = std::string(kTitle),
            .description =
                "Gives a file of a conversation, or a part of it: text as it is, a picture as a "
                "picture, other bytes in base64. Use it for results that a run has written to "
                "/workspace; to compute with a file, run code with the same conversation_id "
                "instead of reading it. A call gives 64 KiB unless length says otherwise, at most "
                "1 MiB; if there is more, next_offset says where to read on. Example: "
                "{\"conversation_id\": \"trip\", \"path\": \"report.md\"}",
            .input_schema = schema_from(kReadInput),
            .output_schema = schema_from(kReadOutput),
            .annotations = annotations_for(kTitle, Effect::Nothing),
            .icon = icon_of(Symbol::Folder)};
}

ToolDefinition define_write_file(const engine::SandboxInfo& /*info*/) {
    constexpr std::string_view kTitle = "Write a file of a conversation";
    json::object annotations = annotations_for(kTitle, Effect::Destroys);
    annotations["idempotentHint"] = true;
    return {.name = "write_file",
            .title = std::string(kTitle),
            .description =
                "Writes a file into the /workspace of a conversation, where programs that run with "
                "the same conversation_id find it. Use it for data that several runs need; input "
                "of one run goes into files of execute_code. A file that is there is replaced as a "
                "whole, unless overwrite is false. The space of a conversation is limited; what "
                "exceeds it is refused. Example: {\"conversation_id\": \"trip\", \"path\": "
                "\"data/a.csv\", \"content\": \"x,y\\n1,2\\n\"}",
            .input_schema = schema_from(kWriteInput),
            .output_schema = schema_from(kWriteOutput),
            .annotations = std::move(annotations),
            .icon = icon_of(Symbol::Folder)};
}

Task<Result<ToolOutcome>> list_files(ToolContext context, ToolCall call,
                                     engine::CancellationPtr /*cancellation*/) {
    const FileName where = file_name(call);
    BJ_CO_TRY(const std::vector<FileView> files,
              co_await context.executor->conversations().list_files(where));
    json::array entries = is_true(call.arguments, "recursive") ? all_entries(files, where)
                                                               : direct_entries(files, where);
    const std::size_t omitted = entries.size() - std::min(entries.size(), kMostEntries);
    entries.resize(entries.size() - omitted);
    std::string text;
    for (const json::value& entry : entries) {
        text += entry_line(entry.get_object());
    }
    if (omitted > 0) {
        text += fmt::format("[{} more; list a path below]", omitted);
    }
    co_return ToolOutcome{.text = text.empty() ? "There are no files." : std::move(text),
                          .structured = json::object{{"conversation_id", where.conversation_id},
                                                     {"path", where.path},
                                                     {"entries", std::move(entries)},
                                                     {"omitted", omitted}}};
}

Task<Result<ToolOutcome>> read_file(ToolContext context, ToolCall call,
                                    engine::CancellationPtr /*cancellation*/) {
    const FileName name = file_name(call);
    const std::string given = text_of(call.arguments, "encoding");
    const std::string encoding = given.empty() ? "auto" : given;
    // A picture is of no use in part, and what it is, is known only by its name.
    const bool whole = encoding == "auto" && !is_given(call.arguments, "length") &&
                       !is_given(call.arguments, "offset");
    const engine::ByteRange range{
        .offset = number_of(call.arguments, "offset", 0),
        .length = number_of(call.arguments, "length", whole ? kLargestRead : kUsualRead)};
    BJ_CO_TRY(FilePart part, co_await context.executor->conversations().read_file(name, range));
    if (whole && !is_picture(part.file.mime) && part.content.size() > kUsualRead) {
        part.content.resize(kUsualRead);
    }
    co_return show_part(std::move(part), name, encoding);
}

Task<Result<ToolOutcome>> write_file(ToolContext context, ToolCall call,
                                     engine::CancellationPtr /*cancellation*/) {
    const FileName name = file_name(call);
    BJ_CO_TRY(std::string content, content_to_write(call.arguments));
    engine::Conversations& conversations = context.executor->conversations();
    const Result<FileView> before =
        co_await conversations.find_file(name, execution::Digest::Omitted);
    if (before && is_false(call.arguments, "overwrite")) {
        co_return fail(ErrorCode::Conflict,
                       fmt::format("{} is there already; pass overwrite: true to replace it, or "
                                   "choose another path",
                                   quote(name.path)));
    }
    BJ_CO_TRY(const FileView file, co_await conversations.write_file(name, std::move(content)));
    json::object written = to_json(file, name);
    written["created"] = !before.has_value();
    co_return ToolOutcome{.text = fmt::format("{} {} ({} bytes).", before ? "Replaced" : "Wrote",
                                              file.path, file.size),
                          .structured = std::move(written)};
}

}  // namespace belljar::mcp
