#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/result.h"

namespace belljar::jar {

// An ext4 image on a loop device. The kernel lets go of the device and of the image, which has no
// name, when this is closed and the jar's mount is gone.
struct WorkspaceImage {
    Fd device{};
    std::uint32_t minor = 0;
};

enum class LoopAccess { ReadOnly, ReadWrite };

// Another process may take the free device between the question and its use: tries again then.
[[nodiscard]] Result<WorkspaceImage> attach_loop(const Fd& file, LoopAccess access);

// A file without a name, in a directory that may be anybody's.
[[nodiscard]] Result<Fd> make_nameless_file(const std::string& directory, Bytes size);

// An empty file system, of which others are copies: what in its file is no hole.
class ImagePattern {
   public:
    static Result<ImagePattern> read(const Fd& file);

    [[nodiscard]] Bytes size() const { return size_; }
    // Into a file of that size which is all hole.
    [[nodiscard]] Result<void> write_to(const Fd& file) const;

   private:
    struct Piece {
        off_t begin = 0;
        std::string content{};
    };

    Bytes size_{};
    std::vector<Piece> pieces_;
};

// A workspace with a hard limit: who writes more gets ENOSPC, and what is written counts against
// the disk and not against memory.
[[nodiscard]] Result<WorkspaceImage> make_workspace_image(const ImagePattern& pattern,
                                                          const std::string& directory);

// Where nodes can be made that nobody else sees: mount tables show their names.
[[nodiscard]] Result<void> enter_private_directory();

// Mounts it, attached nowhere yet; all of it belongs to `owner`. The calling process has to be in a
// directory where it may make a node, by whose name the mount table then knows it.
[[nodiscard]] Result<Fd> mount_workspace_image(const WorkspaceImage& image, uid_t owner);

}  // namespace belljar::jar
