#include "mcp/output_content.h"

#include <fmt/format.h>

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

// How many files a result points to; all of them are in its record.
constexpr std::size_t kMostLinks = 32;

bool is_plain(std::string_view mime) { return mime == "text/plain" || mime == "text/markdown"; }

void add_all_forms(const Output& output, const std::string& uri, std::vector<Content>& content) {
    for (const auto& [mime, data] : output.bundle) {
        if (is_picture(mime)) {
            content.emplace_back(Picture{.mime = mime, .data = data});
        } else if (is_plain(mime)) {
            content.emplace_back(data);
        } else if (execution::encoding_of(mime) != execution::Encoding::Binary) {
            content.emplace_back(EmbeddedResource{.uri = uri, .mime = mime, .data = data});
        }
    }
}

void add_stream_link(const execution::RunResult& result, execution::OutputStream stream,
                     std::vector<Content>& content) {
    const bool is_stdout = stream == execution::OutputStream::Stdout;
    const execution::CapturedStream& captured =
        is_stdout ? result.stdout_stream : result.stderr_stream;
    if (captured.truncated && result.full_output) {
        content.emplace_back(
            ResourceLink{.uri = stream_uri(result.execution_id, stream),
                         .name = std::string(execution::name_of(stream)),
                         .description = "All that the program wrote to it; read parts of it.",
                         .mime = "text/plain",
                         .size = captured.bytes});
    }
}

void add_file_links(const execution::RunResult& result, std::vector<Content>& content) {
    std::size_t count = 0;
    for (const execution::ProducedFile& file : result.files) {
        if (!file.uri.empty() && is_there(file) && ++count <= kMostLinks) {
            content.emplace_back(ResourceLink{
                .uri = file.uri, .name = file.name, .mime = file.mime, .size = file.size});
        }
    }
}

}  // namespace

std::vector<Content> content_of(const execution::RunResult& result, execution::OutputForm form) {
    std::vector<Content> content;
    std::size_t number = 0;
    for (const Output& output : result.outputs) {
        const std::string uri =
            fmt::format("belljar://runs/{}/outputs/{}", result.execution_id, number++);
        if (form == execution::OutputForm::Full) {
            add_all_forms(output, uri, content);
            continue;
        }
        std::optional<Content> best = best_form(output);
        const auto* text = best ? std::get_if<std::string>(&*best) : nullptr;
        if (best && (text == nullptr || text->empty() || *text != result.result_repr)) {
            content.push_back(std::move(*best));
        }
    }
    add_stream_link(result, execution::OutputStream::Stdout, content);
    add_stream_link(result, execution::OutputStream::Stderr, content);
    add_file_links(result, content);
    return content;
}

bool is_there(const execution::ProducedFile& file) { return !file.sha256.empty(); }

std::string stream_uri(std::string_view execution_id, execution::OutputStream stream) {
    return fmt::format("belljar://runs/{}/{}", execution_id, execution::name_of(stream));
}

}  // namespace belljar::mcp
