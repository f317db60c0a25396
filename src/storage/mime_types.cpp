#include "storage/mime_types.h"

#include <array>
#include <string>

#include "base/ascii.h"

namespace belljar::storage {
namespace {

struct Known {
    std::string_view suffix;
    std::string_view mime;
};

constexpr std::array<Known, 52> kKnownTypes{{{"txt", "text/plain"},
                                             {"log", "text/plain"},
                                             {"md", "text/markdown"},
                                             {"csv", "text/csv"},
                                             {"tsv", "text/tab-separated-values"},
                                             {"html", "text/html"},
                                             {"htm", "text/html"},
                                             {"css", "text/css"},
                                             {"js", "text/javascript"},
                                             {"mjs", "text/javascript"},
                                             {"cjs", "text/javascript"},
                                             {"ts", "text/x-typescript"},
                                             {"py", "text/x-python"},
                                             {"sh", "text/x-shellscript"},
                                             {"c", "text/x-c"},
                                             {"h", "text/x-c"},
                                             {"cpp", "text/x-c++"},
                                             {"go", "text/x-go"},
                                             {"rs", "text/x-rust"},
                                             {"java", "text/x-java"},
                                             {"r", "text/x-r"},
                                             {"rb", "text/x-ruby"},
                                             {"sql", "text/x-sql"},
                                             {"json", "application/json"},
                                             {"jsonl", "application/jsonl"},
                                             {"ipynb", "application/x-ipynb+json"},
                                             {"xml", "application/xml"},
                                             {"yaml", "application/yaml"},
                                             {"yml", "application/yaml"},
                                             {"toml", "application/toml"},
                                             {"pdf", "application/pdf"},
                                             {"zip", "application/zip"},
                                             {"gz", "application/gzip"},
                                             {"tar", "application/x-tar"},
                                             {"parquet", "application/vnd.apache.parquet"},
                                             {"sqlite", "application/vnd.sqlite3"},
                                             {"db", "application/vnd.sqlite3"},
                                             {"wasm", "application/wasm"},
                                             {"png", "image/png"},
                                             {"jpg", "image/jpeg"},
                                             {"jpeg", "image/jpeg"},
                                             {"gif", "image/gif"},
                                             {"webp", "image/webp"},
                                             {"svg", "image/svg+xml"},
                                             {"bmp", "image/bmp"},
                                             {"ico", "image/vnd.microsoft.icon"},
                                             {"mp3", "audio/mpeg"},
                                             {"wav", "audio/wav"},
                                             {"ogg", "audio/ogg"},
                                             {"mp4", "video/mp4"},
                                             {"webm", "video/webm"},
                                             {"woff2", "font/woff2"}}};

}  // namespace

std::string_view mime_of(std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const std::size_t dot = name.rfind('.');
    if (dot != std::string_view::npos && dot > 0) {
        const std::string suffix = to_lower(name.substr(dot + 1));
        for (const Known& known : kKnownTypes) {
            if (known.suffix == suffix) {
                return known.mime;
            }
        }
    }
    return "application/octet-stream";
}

}  // namespace belljar::storage
