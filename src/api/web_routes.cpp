#include "api/web_routes.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "api/entity_tag.h"
#include "api/operation_parts.h"
#include "api/web_assets.h"
#include "base/ascii.h"

namespace belljar::api {
namespace {

using access::HttpRequest;
using access::HttpResponse;

constexpr std::string_view kPage = "index.html";
// Names hold a hash of the content, so what is behind one never changes.
constexpr std::string_view kForEver = "public, max-age=31536000, immutable";

// The page runs its own scripts alone, reaches nobody but this server, cannot be framed, and makes
// HTML out of text only through the policy with this name (web/src/frame.tsx). Frames in which
// results are shown inherit all of it.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self' {}; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types belljar-frame";

const WebAsset* find_asset(std::string_view name) {
    const std::span<const WebAsset> assets = web_assets();
    const auto found = std::ranges::find(assets, name, &WebAsset::name);
    return found == assets.end() ? nullptr : &*found;
}

// For the few clients that take nothing compressed. The input is our own.
std::string unpack(std::string_view gzip) {
    constexpr int kGzip = 16 + MAX_WBITS;
    z_stream stream{};
    if (::inflateInit2(&stream, kGzip) != Z_OK) {
        return {};
    }
    std::vector<Bytef> input(gzip.begin(), gzip.end());
    stream.next_in = input.data();
    stream.avail_in = static_cast<uInt>(input.size());
    std::string text;
    std::array<Bytef, 65536> part{};
    int state = Z_OK;
    while (state == Z_OK) {
        stream.next_out = part.data();
        stream.avail_out = static_cast<uInt>(part.size());
        state = ::inflate(&stream, Z_NO_FLUSH);
        text.append(part.begin(), part.end() - stream.avail_out);
    }
    ::inflateEnd(&stream);
    return text;
}

// The form of the asset that the caller takes, or 304 if it has that.
HttpResponse send(const HttpRequest& request, const WebAsset& asset, HttpResponse response) {
    const std::string accepted = request.header("Accept-Encoding").value_or("");
    std::string_view coding;
    if (accepts_coding(accepted, "br")) {
        coding = "br";
    } else if (accepts_coding(accepted, "gzip")) {
        coding = "gzip";
    }
    const std::string tag = fmt::format("\"{}-{}\"", asset.tag, coding.empty() ? "raw" : coding);
    response.content_type = asset.media_type;
    response.headers.emplace_back("ETag", tag);
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    response.headers.emplace_back("Referrer-Policy", "no-referrer");
    if (!coding.empty()) {
        response.headers.emplace_back("Content-Encoding", coding);
    }
    if (has_already(request, tag)) {
        response.status = 304;
        return response;
    }
    response.body = coding.empty() ? unpack(asset.gzip)
                                   : std::string(coding == "br" ? asset.brotli : asset.gzip);
    return response;
}

HttpResponse send_file(const Call& call) {
    const std::string& name = call.path_value("name");
    const WebAsset* asset = name == kPage ? nullptr : find_asset(name);
    if (asset == nullptr) {
        return access::make_refusal(404, "there is no such file of the web interface");
    }
    return send(
        call.request, *asset,
        {.headers = {{"Cache-Control", std::string(kForEver)}, {"Vary", "Accept-Encoding"}}});
}

}  // namespace

bool wants_page(const HttpRequest& request) {
    return request.header("Accept").value_or("").find("text/html") != std::string::npos;
}

HttpResponse web_page(const HttpRequest& request) {
    const WebAsset* page = find_asset(kPage);
    if (page == nullptr) {
        return access::make_refusal(404, "this program was built without the web interface");
    }
    return send(
        request, *page,
        {.headers = {{"Cache-Control", "no-cache"},
                     {"Vary", "Accept, Accept-Encoding"},
                     {"Content-Security-Policy", fmt::format(kPolicy, source_of_frame_style())},
                     {"Cross-Origin-Opener-Policy", "same-origin"},
                     {"Cross-Origin-Resource-Policy", "same-origin"},
                     {"Permissions-Policy",
                      "camera=(), microphone=(), geolocation=(), payment=(), usb=()"}}});
}

bool accepts_coding(std::string_view header, std::string_view coding) {
    while (!header.empty()) {
        const std::size_t comma = std::min(header.find(','), header.size());
        std::string one = to_lower(std::string(header.substr(0, comma)));
        header.remove_prefix(std::min(comma + 1, header.size()));
        std::erase_if(one, [](char letter) { return letter == ' ' || letter == '\t'; });
        const std::size_t end = std::min(one.find(';'), one.size());
        const std::string_view quality = std::string_view(one).substr(end);
        if (std::string_view(one).substr(0, end) == coding) {
            // ";q=0", ";q=0.0": anything but zero is wanted.
            return !quality.starts_with(";q=0") ||
                   quality.find_first_not_of("0.", 3) != std::string_view::npos;
        }
    }
    return false;
}

void WebRoutes::add_to(OperationTable& table) {
    table.add({.id = "getWebFile",
               .method = "GET",
               .path = "/assets/{name}",
               .tag = "system",
               .summary = "A file of the web interface, which is at /",
               .description = "Its name holds a hash of what is in it.",
               .door = access::Gate::Door::Open,
               .parameters = {tag_parameter()},
               .answers = {{.description = "The file.",
                            .content = {{.media_type = "*/*", .schema = {{"type", "string"}}}},
                            .headers = {header_parameter("ETag", "Of this version.")}},
                           not_modified()},
               .handler = [](Call call) { return answer_at_once(send_file(call)); }});
}

}  // namespace belljar::api
