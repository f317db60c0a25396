#include "mcp/notice_wishes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace belljar::mcp {
namespace {

RpcResult<std::optional<Severity>> read_level(const json::object& meta) {
    const json::value* level = meta.if_contains(kLogLevelKey);
    if (level == nullptr) {
        return std::nullopt;
    }
    const json::string* name = level->if_string();
    const std::optional<Severity> severity = name != nullptr ? parse_severity(*name) : std::nullopt;
    if (!severity) {
        return rpc_fail(RpcCode::InvalidParams,
                        fmt::format("params._meta has a \"{}\" that is not one of {}.",
                                    kLogLevelKey, fmt::join(kSeverityNames, ", ")));
    }
    return severity;
}

}  // namespace

RpcResult<NoticeWishes> read_wishes(const json::object& params, Revision revision,
                                    const ConnectionMemory* memory) {
    NoticeWishes wishes{.revision = revision};
    if (memory != nullptr && era_of(revision) == Era::Legacy) {
        wishes.log_level = memory->log_level;
    }
    const json::value* meta = params.if_contains("_meta");
    if (meta == nullptr || !meta->is_object()) {
        return wishes;
    }
    if (const json::value* token = meta->get_object().if_contains("progressToken")) {
        if (!token->is_string() && !token->is_int64() && !token->is_uint64()) {
            return rpc_fail(RpcCode::InvalidParams,
                            "params._meta.progressToken must be a string or an integer.");
        }
        wishes.progress_token = *token;
    }
    if (era_of(revision) == Era::Modern) {
        RpcResult<std::optional<Severity>> level = read_level(meta->get_object());
        if (!level) {
            return std::unexpected(std::move(level.error()));
        }
        wishes.log_level = *level;
    }
    return wishes;
}

}  // namespace belljar::mcp
