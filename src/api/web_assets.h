#pragma once

#include <span>
#include <string_view>

namespace belljar::api {

// A file of the web interface, which is part of the binary and only there in compressed form. The
// table is made by web/pack.mjs when the program is built.
struct WebAsset {
    std::string_view name;        // "index.html", "index-Bq3x9f.js"
    std::string_view media_type;  // with its charset
    std::string_view tag;         // of its content, without quotation marks
    std::string_view brotli;
    std::string_view gzip;
};

[[nodiscard]] std::span<const WebAsset> web_assets();

// The style sheet within the page, as a Content-Security-Policy names it: 'sha256-...'.
[[nodiscard]] std::string_view source_of_frame_style();

}  // namespace belljar::api
