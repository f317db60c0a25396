#include "mcp/stdio_era.h"

#include "base/assert.h"
#include "mcp/era.h"
#include "mcp/modern_request.h"

namespace belljar::mcp {
namespace {

// Probing clients send it before they choose an era.
bool is_probe(const Message& request) { return request.method == "server/discover"; }

// The version that an `initialize` asks for.
std::optional<std::string> requested_version(const Message& request) {
    const json::value* version = request.params.if_contains("protocolVersion");
    const json::string* text = version != nullptr ? version->if_string() : nullptr;
    return text != nullptr ? std::optional(std::string(*text)) : std::nullopt;
}

}  // namespace

RpcResult<Revision> StdioEra::admit(const Message& request) {
    BJ_ASSERT(request.kind == Message::Kind::Request);
    if (era_ == Era::Legacy) {
        return admit_legacy(request);
    }
    const RpcResult<Era> era = classify(request, std::nullopt);
    if (!era) {
        return std::unexpected(era.error());
    }
    if (*era == Era::Modern || era_ == Era::Modern) {
        return admit_modern(request);
    }
    return admit_legacy(request);
}

RpcResult<Revision> StdioEra::admit_modern(const Message& request) {
    if (version_claim(request.params) == nullptr && request.method == "initialize") {
        return std::unexpected(unsupported_version(requested_version(request).value_or("")));
    }
    if (std::optional<RpcError> fault = find_envelope_fault(request)) {
        return std::unexpected(std::move(*fault));
    }
    if (std::optional<RpcError> fault = find_version_fault(request)) {
        return std::unexpected(std::move(*fault));
    }
    if (!is_probe(request)) {
        era_ = Era::Modern;
    }
    return kModernRevision;
}

Revision StdioEra::admit_legacy(const Message& request) {
    const std::optional<std::string> requested = requested_version(request);
    if (request.method == "initialize" && requested) {
        legacy_revision_ = negotiate(*requested);
    }
    if (!is_probe(request)) {
        era_ = Era::Legacy;
    }
    return legacy_revision_;
}

std::optional<Revision> StdioEra::legacy_revision() const {
    return era_ == Era::Modern ? std::nullopt : std::optional(legacy_revision_);
}

}  // namespace belljar::mcp
