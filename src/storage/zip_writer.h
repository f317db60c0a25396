#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace belljar::storage {

// Writes a ZIP archive, from where the file stands. Any thread, one at a time. After an error
// nothing but destruction makes sense.
class ZipWriter {
   public:
    struct Entry {
        std::string path{};  // a directory's without a slash at its end
        std::chrono::system_clock::time_point modified{};
        bool directory = false;
        bool executable = false;
    };

    // The file is borrowed, is empty, and is open for writing.
    explicit ZipWriter(const Fd& file);
    ZipWriter(ZipWriter&&) noexcept;
    ZipWriter& operator=(ZipWriter&&) noexcept;
    ~ZipWriter();

    // TooLarge where the format ends: 65534 entries, 4 GiB.
    Result<void> begin(const Entry& entry);
    Result<void> append(std::string_view data);
    Result<void> end();
    // How many bytes the archive has.
    Result<std::uint64_t> finish();

   private:
    struct State;
    std::unique_ptr<State> state_;
};

// A name as it may stand in an archive: some readers take a backslash for a slash.
[[nodiscard]] std::string archive_name(std::string_view path);

}  // namespace belljar::storage
