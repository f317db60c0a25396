#include "approved/pack.h"

#include <algorithm>
#include <string_view>

#include "crypto/digest.h"
#include "jar/pack_stream.h"
#include "jar/tool_tree.h"

namespace belljar::approved {
namespace {

void append(std::string& text, jar::PackKind kind, std::string_view body) {
    const jar::PackHeader header{.kind = kind,
                                 .length = static_cast<std::uint32_t>(body.size()),
                                 .number = 0,
                                 .executable = 0,
                                 .reason = jar::LeftReason::None};
    text.append(reinterpret_cast<const char*>(&header), sizeof(header));
    text.append(body);
}

}  // namespace

Result<PackPtr> make_pack(const std::vector<const Module*>& modules) {
    auto pack = std::make_shared<Pack>();
    if (modules.empty()) {
        return pack;
    }
    std::vector<const Module*> sorted = modules;
    std::ranges::sort(sorted, {}, [](const Module* module) { return module->approval.file; });
    std::string text;
    for (const Module* module : sorted) {
        append(text, jar::PackKind::File, module->approval.file);
        std::string_view rest = module->content;
        while (!rest.empty()) {
            append(text, jar::PackKind::Data, rest.substr(0, jar::kLargestBody));
            rest.remove_prefix(std::min(rest.size(), jar::kLargestBody));
        }
        append(text, jar::PackKind::FileEnd, {});
        pack->modules.push_back(module_name(module->approval.file));
        pack->needs_logs = pack->needs_logs || module->approval.needs_logs;
    }
    append(text, jar::PackKind::End, {});
    if (text.size() > jar::kLargestToolPack) {
        return fail(ErrorCode::TooLarge, "the tools are too large to be given to every jar");
    }
    pack->digest = crypto::sha256_hex(text);
    BJ_TRY(pack->file, make_sealed_file("tools", text));
    return pack;
}

}  // namespace belljar::approved
