#include "jar/workspace_image.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <linux/major.h>
#include <linux/mount.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "jar/mounts.h"

namespace belljar::jar {
namespace {

constexpr int kLoopAttempts = 64;

}  // namespace

Result<ImagePattern> ImagePattern::read(const Fd& file) {
    ImagePattern pattern;
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) {
        return fail(system_error("fstat"));
    }
    pattern.size_ = Bytes{static_cast<std::uint64_t>(status.st_size)};
    off_t hole = 0;
    off_t begin = 0;
    while ((begin = ::lseek(file.get(), hole, SEEK_DATA)) >= 0) {
        hole = ::lseek(file.get(), begin, SEEK_HOLE);
        if (hole < begin) {
            return fail(system_error("SEEK_HOLE"));
        }
        std::string content(static_cast<std::size_t>(hole - begin), '\0');
        if (::pread(file.get(), content.data(), content.size(), begin) !=
            static_cast<ssize_t>(content.size())) {
            return fail(system_error("read the pattern of images"));
        }
        pattern.pieces_.push_back({.begin = begin, .content = std::move(content)});
    }
    if (errno != ENXIO) {
        return fail(system_error("SEEK_DATA"));
    }
    return pattern;
}

Result<void> ImagePattern::write_to(const Fd& file) const {
    for (const Piece& piece : pieces_) {
        if (::pwrite(file.get(), piece.content.data(), piece.content.size(), piece.begin) !=
            static_cast<ssize_t>(piece.content.size())) {
            return fail(system_error("copy the image"));
        }
    }
    return {};
}

Result<Fd> make_nameless_file(const std::string& directory, Bytes size) {
    std::string path = directory + "/belljar-XXXXXX";
    Fd file(::mkostemp(path.data(), O_CLOEXEC));
    if (!file.valid() || ::unlink(path.c_str()) != 0) {
        return fail(system_error("create a file in the scratch directory"));
    }
    if (::ftruncate(file.get(), static_cast<off_t>(size.count)) != 0) {
        return fail(system_error("ftruncate"));
    }
    return file;
}

Result<WorkspaceImage> attach_loop(const Fd& file, LoopAccess access) {
    const Fd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    if (!control.valid()) {
        return fail(system_error("open loop-control"));
    }
    loop_config setup{};
    setup.fd = static_cast<std::uint32_t>(file.get());
    setup.block_size = 4096;
    setup.info.lo_flags = LO_FLAGS_AUTOCLEAR;
    setup.info.lo_flags |= access == LoopAccess::ReadOnly ? LO_FLAGS_READ_ONLY : 0U;
    for (int attempt = 0; attempt < kLoopAttempts; ++attempt) {
        const int minor = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
        if (minor < 0) {
            return fail(system_error("LOOP_CTL_GET_FREE"));
        }
        const std::string path = "/dev/loop" + std::to_string(minor);
        Fd device(::open(path.c_str(), O_RDWR | O_CLOEXEC));
        if (device.valid() && ::ioctl(device.get(), LOOP_CONFIGURE, &setup) == 0) {
            return WorkspaceImage{.device = std::move(device),
                                  .minor = static_cast<std::uint32_t>(minor)};
        }
        if (errno != EBUSY && errno != ENXIO) {
            return fail(system_error("LOOP_CONFIGURE"));
        }
    }
    return fail(system_error("no free loop device", EBUSY));
}

Result<WorkspaceImage> make_workspace_image(const ImagePattern& pattern,
                                            const std::string& directory) {
    BJ_TRY(const Fd file, make_nameless_file(directory, pattern.size()));
    // Filled only now: the device waits until what is in its file has reached the disk.
    BJ_TRY(WorkspaceImage image, attach_loop(file, LoopAccess::ReadWrite));
    BJ_TRY_VOID(pattern.write_to(file));
    return image;
}

Result<void> enter_private_directory() {
    BJ_TRY(const Fd directory,
           make_filesystem("tmpfs", {{"size", "64k"}, {"mode", "0700"}}, MOUNT_ATTR_NOSUID));
    return ::fchdir(directory.get()) == 0 ? Result<void>{} : fail(system_error("fchdir"));
}

Result<Fd> mount_workspace_image(const WorkspaceImage& image, uid_t owner) {
    constexpr const char* kName = "workspace";
    if (::mknod(kName, S_IFBLK | 0600, makedev(LOOP_MAJOR, image.minor)) != 0) {
        return fail(system_error("mknod"));
    }
    // Nothing in it outlives the jar, so nobody has to wait for the disk: neither a guest that
    // calls fsync() nor who removes the jar. What would let files share their extended attributes
    // costs each mount a tenth of its time.
    Result<Fd> mount =
        make_filesystem("ext4", {{"source", kName}, {"nobarrier", ""}, {"no_mbcache", ""}},
                        MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    ::unlink(kName);
    if (mount && ::fchownat(mount->get(), "", owner, owner, AT_EMPTY_PATH) != 0) {
        return fail(system_error("prepare the workspace"));
    }
    return mount;
}

}  // namespace belljar::jar
