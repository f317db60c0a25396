#pragma once

#include <string>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/result.h"

namespace belljar::keeper {

// An empty ext4 file system in a file without a name, of which every workspace is a copy.
class WorkspaceTemplate {
   public:
    // Starts mkfs in `directory` and does not wait for it.
    static Result<WorkspaceTemplate> start(const std::string& directory, Bytes size);

    WorkspaceTemplate(WorkspaceTemplate&& other) noexcept = default;
    WorkspaceTemplate& operator=(WorkspaceTemplate&&) = delete;
    WorkspaceTemplate(const WorkspaceTemplate&) = delete;
    WorkspaceTemplate& operator=(const WorkspaceTemplate&) = delete;
    ~WorkspaceTemplate();

    // The process of mkfs; it may have ended.
    [[nodiscard]] pid_t process() const { return mkfs_.pid(); }
    // The file system, once mkfs has ended well: without lost+found, which is for an fsck that
    // never comes, and with a hole wherever it is zero, so that there is little to copy.
    Result<Fd> take();

   private:
    WorkspaceTemplate(std::string directory, Fd file, PidFd mkfs)
        : directory_(std::move(directory)), file_(std::move(file)), mkfs_(std::move(mkfs)) {}

    std::string directory_;
    Fd file_;
    PidFd mkfs_;  // invalid once it was waited for
};

}  // namespace belljar::keeper
