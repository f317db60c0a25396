#pragma once

#include <string>
#include <utility>

#include "base/fd.h"

namespace belljar::storage {

// A file that is being filled in a conversation's `incoming`, where it will be given its place from
// without being copied. It is locked, so that nobody takes it for one that was left by a crash; one
// that is destroyed without having got its place is gone. Any thread, one at a time.
class StagedFile {
   public:
    StagedFile() = default;
    // `file` is open for reading and writing, and locked.
    StagedFile(Fd directory, std::string name, Fd file)
        : directory_(std::move(directory)), name_(std::move(name)), file_(std::move(file)) {}
    StagedFile(StagedFile&& other) noexcept
        : directory_(std::move(other.directory_)),
          name_(std::exchange(other.name_, {})),
          file_(std::move(other.file_)) {}
    StagedFile& operator=(StagedFile&& other) noexcept;
    StagedFile(const StagedFile&) = delete;
    StagedFile& operator=(const StagedFile&) = delete;
    ~StagedFile() { drop(); }

    // To be written to; whoever puts it has written everything.
    [[nodiscard]] const Fd& file() const { return file_; }
    [[nodiscard]] const std::string& name() const { return name_; }

    // It has got its place.
    void keep() { name_.clear(); }

   private:
    void drop();

    Fd directory_;      // the `incoming` that it is in
    std::string name_;  // empty: nothing to remove
    Fd file_;
};

}  // namespace belljar::storage
