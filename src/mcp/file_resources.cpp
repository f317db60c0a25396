#include "mcp/file_resources.h"

#include <fmt/format.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "execution/error_wire.h"
#include "mcp/file_completion.h"
#include "mcp/resource_range.h"

namespace belljar::mcp {
namespace {

constexpr std::string_view kBeginning = "belljar://conversations/";

ResourceDefinition describe(const std::string& conversation_id, const execution::FileView& file) {
    return {.uri = engine::file_uri(conversation_id, file.path),
            .name = file.path,
            .title = file.path.substr(file.path.rfind('/') + 1),
            .description = fmt::format("A file of the conversation {}.", conversation_id),
            .mime = file.mime,
            .size = file.size};
}

RpcError error_of(const Error& error, std::string_view uri) {
    switch (error.code) {
        case ErrorCode::NotFound:
        case ErrorCode::InvalidArgument:
        case ErrorCode::Unsupported:
            return resource_not_found(uri);
        default:
            return {.code = static_cast<RpcCode>(execution::json_rpc_code(error.code)),
                    .message = execution::client_message(error)};
    }
}

}  // namespace

FileResources::FileResources(const asio::any_io_executor& io, engine::Conversations& conversations,
                             Changes& changes)
    : io_(io),
      conversations_(conversations),
      changes_(changes),
      changed_lists_(std::make_shared<std::set<std::string>>()),
      watch_(conversations.watch([this](const execution::FileChange& change) { tell(change); })) {}

void FileResources::tell(const execution::FileChange& change) {
    const execution::FileName& file = change.file;
    changes_.tell({.kind = Change::Kind::Resource,
                   .name = engine::file_uri(file.conversation_id, file.path),
                   .principal = file.principal});
    if (change.kind == execution::FileChange::Kind::Changed) {
        return;
    }
    changed_lists_->insert(file.principal);
    if (changed_lists_->size() > 1) {
        return;  // whoever was first has seen to it
    }
    asio::post(io_, [changes = &changes_, weak = std::weak_ptr(changed_lists_)] {
        const auto lists = weak.lock();
        if (!lists) {
            return;
        }
        for (const std::string& principal : std::exchange(*lists, {})) {
            changes->tell({.kind = Change::Kind::Resources, .principal = principal});
        }
    });
}

Task<std::vector<ResourceDefinition>> FileResources::resources(Asker asker) {
    std::vector<ResourceDefinition> listed;
    if (!asker.rights.has(access::Right::FilesRead)) {
        co_return listed;
    }
    const auto views = co_await conversations_.list_conversations(asker.principal);
    if (!views) {
        co_return listed;  // none are kept here
    }
    std::size_t looked_at = 0;
    for (const execution::ConversationView& view : *views) {
        if (++looked_at > kMostConversations) {
            break;
        }
        const auto files = co_await conversations_.list_files(
            {.principal = asker.principal, .conversation_id = view.conversation_id});
        if (!files) {
            continue;  // it has gone in the meantime
        }
        for (const execution::FileView& file : *files) {
            if (listed.size() == kMostListed) {
                co_return listed;
            }
            listed.push_back(describe(view.conversation_id, file));
        }
    }
    co_return listed;
}

std::vector<ResourceTemplate> FileResources::templates() const {
    return {{.uri_template = std::string(kTemplate),
             .name = "conversation_file",
             .title = "File of a conversation",
             .description =
                 "A file that runs with this conversation_id have in /workspace. At most 1 MiB is "
                 "given at once; offset and length, in bytes, choose the part."}};
}

bool FileResources::owns_resource(std::string_view uri) const {
    return uri.starts_with(kBeginning);
}

Task<RpcResult<Round<ResourceContents>>> FileResources::read_resource(
    ResourceRequest request, engine::CancellationPtr /*cancellation*/) {
    if (!request.asker.rights.has(access::Right::FilesRead)) {
        co_return std::unexpected(files_right_lacking());
    }
    RpcResult<RangedUri> ranged = parse_ranged_uri(request.uri);
    if (!ranged) {
        co_return std::unexpected(std::move(ranged.error()));
    }
    std::optional<execution::FileName> name = engine::parse_file_uri(ranged->uri);
    if (!name) {
        co_return std::unexpected(resource_not_found(request.uri));
    }
    name->principal = request.asker.principal;
    Result<execution::FilePart> part = co_await conversations_.read_file(
        std::move(*name), {.offset = ranged->offset, .length = ranged->length});
    if (!part) {
        co_return std::unexpected(error_of(part.error(), request.uri));
    }
    RpcResult<ResourceContents> contents =
        make_contents(*ranged, {.mime = std::move(part->file.mime),
                                .total = part->file.size,
                                .bytes = std::move(part->content)});
    if (!contents) {
        co_return std::unexpected(std::move(contents.error()));
    }
    contents->parts.front().uri = request.uri;
    co_return std::move(*contents);
}

Task<std::optional<Completion>> FileResources::complete(CompletionRequest request) {
    if (request.of != CompletionRequest::Of::Template || request.name != kTemplate) {
        co_return std::nullopt;
    }
    if (request.argument == "id") {
        Completion completion = co_await complete_conversation(
            &conversations_, std::move(request.asker), std::move(request.begun));
        co_return completion;
    }
    if (request.argument == "path") {
        PathBegun begun{.conversation_id = request.context["id"], .path = std::move(request.begun)};
        Completion completion =
            co_await complete_path(&conversations_, std::move(request.asker), std::move(begun));
        co_return completion;
    }
    co_return Completion{};
}

}  // namespace belljar::mcp
