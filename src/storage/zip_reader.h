#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/result.h"
#include "storage/file_import.h"

namespace belljar::storage {

struct ZipEntry {
    std::string path{};  // plain: relative, without ".."
    bool executable = false;
    bool deflated = false;
    std::uint32_t checksum = 0;
    std::uint64_t size = 0;    // as the archive says; more is never given
    std::uint64_t packed = 0;  // bytes in the archive
    std::uint64_t header = 0;  // where it begins there
    std::uint64_t data = 0;    // where its bytes begin

    bool operator==(const ZipEntry&) const = default;
};

// What an archive may hold at most.
struct ZipBounds {
    std::size_t entries = 10'000;
    Bytes content = gibibytes(1);
    // How many times as large as the archive the content may be, beyond `unsuspicious`.
    std::uint64_t ratio = 200;
    Bytes unsuspicious = mebibytes(32);
};

// Reads a ZIP archive that a stranger has made. What two readers could understand in two ways is
// refused: sizes or names that the two headers of an entry tell differently, entries that share
// bytes, names that occur twice, several ends. So are links and devices, encryption, and names that
// lead anywhere else in any spelling. Archives over 4 GiB (ZIP64) and in parts are not understood.
// Any thread, one at a time.
class ZipReader {
   public:
    // Checks all entries, but reads none. InvalidArgument, with what is wrong; TooLarge beyond the
    // bounds. The file is borrowed.
    static Result<ZipReader> open(const Fd& file, std::uint64_t size, const ZipBounds& bounds);

    // Regular files in their order; directories are not listed.
    [[nodiscard]] const std::vector<ZipEntry>& files() const { return files_; }

    // InvalidArgument if the bytes are not what the archive says.
    [[nodiscard]] Result<void> read(const ZipEntry& entry, const ByteSink& sink) const;

   private:
    explicit ZipReader(const Fd& file) : file_(&file) {}
    [[nodiscard]] Result<void> read_stored(const ZipEntry& entry, const ByteSink& sink) const;
    [[nodiscard]] Result<void> inflate(const ZipEntry& entry, const ByteSink& sink) const;

    const Fd* file_;
    std::vector<ZipEntry> files_;
};

}  // namespace belljar::storage
