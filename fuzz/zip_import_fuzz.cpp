// An archive that a stranger has made: whatever the bytes are, paths stay below the workspace, no
// entry gives more than it says and all of them no more than is allowed.

#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "base/beneath.h"
#include "storage/zip_reader.h"

using belljar::Result;
using belljar::storage::ZipEntry;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view archive(reinterpret_cast<const char*>(data), size);
    const Result<belljar::Fd> file = belljar::make_sealed_file("archive", archive);
    if (!file) {
        return 0;
    }
    const belljar::storage::ZipBounds bounds{.entries = 100, .content = belljar::mebibytes(4)};
    const auto reader = belljar::storage::ZipReader::open(*file, size, bounds);
    if (!reader) {
        return 0;
    }
    std::uint64_t total = 0;
    std::set<std::string> paths;
    for (const ZipEntry& entry : reader->files()) {
        if (!belljar::is_plain_path(entry.path) || entry.path.contains('\\') ||
            !paths.insert(entry.path).second || entry.data + entry.packed > size) {
            std::abort();
        }
        std::uint64_t given = 0;
        const Result<void> read = reader->read(entry, [&given](std::string_view piece) {
            given += piece.size();
            return Result<void>{};
        });
        total += given;
        if (given > entry.size || (read && given != entry.size) || total > bounds.content.count) {
            std::abort();
        }
    }
    return paths.size() > bounds.entries ? (std::abort(), 0) : 0;
}
