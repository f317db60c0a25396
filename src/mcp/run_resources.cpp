#include "mcp/run_resources.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "execution/error_wire.h"
#include "mcp/file_completion.h"
#include "mcp/resource_range.h"

namespace belljar::mcp {
namespace {

using execution::OutputStream;

constexpr std::string_view kBeginning = "belljar://runs/";

struct StreamName {
    std::string execution_id{};
    OutputStream stream = OutputStream::Stdout;
};

std::optional<StreamName> parse_stream_uri(std::string_view uri) {
    uri.remove_prefix(kBeginning.size());
    const std::size_t slash = uri.find('/');
    if (slash == std::string_view::npos) {
        return std::nullopt;
    }
    for (const OutputStream stream : {OutputStream::Stdout, OutputStream::Stderr}) {
        if (uri.substr(slash + 1) == execution::name_of(stream)) {
            return StreamName{.execution_id = std::string(uri.substr(0, slash)), .stream = stream};
        }
    }
    return std::nullopt;
}

// The bytes of the range, or fewer if the stream ends before.
Result<std::string> read_part(const storage::OpenStream& stream, const RangedUri& range) {
    const std::uint64_t left = stream.bytes - std::min(stream.bytes, range.offset);
    std::string bytes(std::min(range.length, left), '\0');
    std::size_t filled = 0;
    while (filled < bytes.size()) {
        const ssize_t count =
            ::pread(stream.file.get(), bytes.data() + filled, bytes.size() - filled,
                    static_cast<off_t>(range.offset + filled));
        if (count < 0 && errno != EINTR) {
            return fail(system_error("read a stored output"));
        }
        if (count == 0) {
            break;
        }
        filled += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    }
    bytes.resize(filled);
    return bytes;
}

RpcError error_of(const Error& error) {
    return {.code = static_cast<RpcCode>(execution::json_rpc_code(error.code)),
            .message = execution::client_message(error)};
}

}  // namespace

std::vector<ResourceTemplate> RunResources::templates() const {
    return {{.uri_template = std::string(kTemplate),
             .name = "run_output",
             .title = "Output of a run",
             .description = "All that a run has written to stdout or stderr, if its result could "
                            "hold only a part of it. At most 1 MiB is given at once; offset and "
                            "length, in bytes, choose the part. The oldest are removed in time.",
             .mime = "text/plain"}};
}

bool RunResources::owns_resource(std::string_view uri) const { return uri.starts_with(kBeginning); }

Task<RpcResult<Round<ResourceContents>>> RunResources::read_resource(
    ResourceRequest request, engine::CancellationPtr /*cancellation*/) {
    if (!request.asker.rights.has(access::Right::FilesRead)) {
        co_return std::unexpected(files_right_lacking());
    }
    RpcResult<RangedUri> ranged = parse_ranged_uri(request.uri);
    if (!ranged) {
        co_return std::unexpected(std::move(ranged.error()));
    }
    const std::optional<StreamName> name = parse_stream_uri(ranged->uri);
    if (!name || store_ == nullptr) {
        co_return std::unexpected(resource_not_found(request.uri));
    }
    const Result<storage::OpenStream> opened =
        store_->open_stream({name->execution_id, request.asker.principal}, name->stream);
    if (!opened) {
        co_return std::unexpected(opened.error().code == ErrorCode::NotFound
                                      ? resource_not_found(request.uri)
                                      : error_of(opened.error()));
    }
    Result<std::string> bytes = read_part(*opened, *ranged);
    if (!bytes) {
        co_return std::unexpected(error_of(bytes.error()));
    }
    RpcResult<ResourceContents> contents = make_contents(
        *ranged, {.mime = "text/plain", .total = opened->bytes, .bytes = std::move(*bytes)});
    if (!contents) {
        co_return std::unexpected(std::move(contents.error()));
    }
    contents->parts.front().uri = request.uri;
    co_return std::move(*contents);
}

Task<std::optional<Completion>> RunResources::complete(CompletionRequest request) {
    if (request.of != CompletionRequest::Of::Template || request.name != kTemplate) {
        co_return std::nullopt;
    }
    if (request.argument == "stream") {
        co_return complete_from({"stdout", "stderr"}, request.begun);
    }
    const bool may = request.asker.rights.has(access::Right::FilesRead) && store_ != nullptr;
    if (request.argument == "execution_id" && may) {
        co_return complete_from(store_->list(request.asker.principal), request.begun);
    }
    co_return Completion{};
}

}  // namespace belljar::mcp
