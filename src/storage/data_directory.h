#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace belljar::storage {

// The directory that holds everything a server keeps. One server at a time: the lock is held as
// long as this object lives, and the kernel gives it up if the process dies.
class DataDirectory {
   public:
    // Makes the directory (mode 0700) if it is not there. Conflict if another server has it.
    static Result<DataDirectory> open(const std::string& path);

    // Without the lock, beside others: for what has locks of its own.
    static Result<DataDirectory> open_shared(const std::string& path);

    // Every access goes through this descriptor, never through the path.
    [[nodiscard]] const Fd& fd() const { return directory_; }
    [[nodiscard]] const std::string& path() const { return path_; }
    // Gives the directory to the account that the server will run as, if it was made by open(): one
    // that was there before keeps its owner, whatever an operator pointed us at.
    Result<void> give_to(uid_t user, gid_t group) const;

   private:
    DataDirectory() = default;

    std::string path_;
    Fd directory_;
    Fd lock_;
    bool made_ = false;
};

}  // namespace belljar::storage
