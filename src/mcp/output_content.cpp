#include "mcp/output_content.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace belljar::mcp {
namespace {

using execution::Output;

constexpr std::array<std::string_view, 4> kPictures{"image/png", "image/jpeg", "image/webp",
                                                    "image/gif"};
// Those that models read best come first.
constexpr std::array<std::string_view, 3> kTexts{"text/markdown", "text/plain", "text/latex"};

bool is_picture(std::string_view mime) {
    return std::ranges::find(kPictures, mime) != kPictures.end();
}

std::optional<Content> best_form(const Output& output) {
    for (const std::string_view mime : kPictures) {
        if (const auto found = output.bundle.find(std::string(mime));
            found != output.bundle.end()) {
            return Picture{.mime = found->first, .data = found->second};
        }
    }
    for (const std::string_view mime : kTexts) {
        if (const auto found = output.bundle.find(std::string(mime));
            found != output.bundle.end()) {
            return found->second;
        }
    }
    for (const auto& [mime, data] : output.bundle) {
        if (execution::encoding_of(mime) != execution::Encoding::Binary) {
            return data;
        }
    }
    return std::nullopt;
}

void add_all_forms(const Output& output, std::vector<Content>& content) {
    for (const auto& [mime, data] : output.bundle) {
        if (is_picture(mime)) {
            content.emplace_back(Picture{.mime = mime, .data = data});
        } else if (execution::encoding_of(mime) != execution::Encoding::Binary) {
            content.emplace_back(data);
        }
    }
}

}  // namespace

std::vector<Content> content_of(const execution::RunResult& result, execution::OutputForm form) {
    std::vector<Content> content;
    for (const Output& output : result.outputs) {
        if (form == execution::OutputForm::Full) {
            add_all_forms(output, content);
            continue;
        }
        std::optional<Content> best = best_form(output);
        const auto* text = best ? std::get_if<std::string>(&*best) : nullptr;
        if (best && (text == nullptr || text->empty() || *text != result.result_repr)) {
            content.push_back(std::move(*best));
        }
    }
    return content;
}

}  // namespace belljar::mcp
