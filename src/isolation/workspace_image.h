#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/result.h"

namespace belljar::isolation {

// An ext4 image on a loop device. The kernel lets go of the device and of the image, which has no
// name, when this is closed and the jar's mount is gone.
struct WorkspaceImage {
    Fd device{};
    std::uint32_t minor = 0;
};

// The same for a file that is there, read-only.
[[nodiscard]] Result<WorkspaceImage> attach_image(const std::string& path);

// Makes workspaces of one size with a hard limit: who writes more gets ENOSPC, and what is written
// counts against the disk and not against memory.
class WorkspaceImages {
   public:
    WorkspaceImages() = default;
    WorkspaceImages(WorkspaceImages&& other) noexcept { *this = std::move(other); }
    WorkspaceImages& operator=(WorkspaceImages&& other) noexcept;
    WorkspaceImages(const WorkspaceImages&) = delete;
    WorkspaceImages& operator=(const WorkspaceImages&) = delete;
    ~WorkspaceImages() { stop_mkfs(); }

    // Starts mkfs for the template in `directory` and does not wait for it.
    static Result<WorkspaceImages> create(const std::string& directory, Bytes size);

    [[nodiscard]] bool usable() const { return template_.valid(); }
    // A copy of the template, empty and of its own.
    [[nodiscard]] Result<WorkspaceImage> make();

   private:
    Result<void> await_template();
    void stop_mkfs();

    std::string directory_;
    Fd template_;
    pid_t mkfs_ = 0;  // running, if not 0
};

}  // namespace belljar::isolation
