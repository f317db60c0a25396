#include "keeper/workspace_template.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "jar/mounts.h"
#include "jar/workspace_image.h"

namespace belljar::keeper {
namespace {

constexpr const char* kMkfs = "/usr/sbin/mkfs.ext4";
constexpr off_t kBlock = 4096;
// As little as possible is in it, since each jar gets a copy of that. Tables of inodes are zeros
// from the beginning, or the kernel would fill them in each copy.
constexpr const char* kFeatures =
    "^has_journal,^resize_inode,^metadata_csum,uninit_bg,sparse_super2";
constexpr std::uint64_t kBytesPerInode = 8192;
constexpr std::uint64_t kMostInodes = 262'144;

[[noreturn]] void become_mkfs(const Fd& file, Bytes size) {
    const std::uint64_t inodes =
        std::clamp<std::uint64_t>(size.count / kBytesPerInode, 64, kMostInodes);
    std::array<std::string, 13> words{"mkfs.ext4",
                                      "-q",
                                      "-F",
                                      "-b",
                                      "4096",
                                      "-O",
                                      kFeatures,
                                      "-m",
                                      "0",
                                      "-E",
                                      "nodiscard,lazy_itable_init=0,num_backup_sb=0",
                                      "-N" + std::to_string(inodes),
                                      "/proc/self/fd/" + std::to_string(file.get())};
    std::vector<char*> arguments;
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    char* const environment[] = {nullptr};
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL);
    ::fcntl(file.get(), F_SETFD, 0);
    ::execve(kMkfs, arguments.data(), environment);
    ::_exit(127);
}

Bytes size_of(const Fd& file) {
    return Bytes{static_cast<std::uint64_t>(::lseek(file.get(), 0, SEEK_END))};
}

// Those that are not zero. mkfs leaves room that is allocated and empty, which counts as content as
// soon as somebody has read it.
Result<void> copy_blocks(const Fd& from, const Fd& to) {
    off_t hole = 0;
    off_t at = 0;
    while ((at = ::lseek(from.get(), hole, SEEK_DATA)) >= 0) {
        hole = ::lseek(from.get(), at, SEEK_HOLE);
        for (; at < hole; at += kBlock) {
            std::array<char, kBlock> block{};
            if (::pread(from.get(), block.data(), kBlock, at) < 0) {
                return fail(system_error("read the template"));
            }
            const bool zero = std::ranges::all_of(block, [](char byte) { return byte == 0; });
            if (!zero && ::pwrite(to.get(), block.data(), kBlock, at) != kBlock) {
                return fail(system_error("write the template"));
            }
        }
    }
    return errno == ENXIO ? Result<void>{} : fail(system_error("SEEK_DATA"));
}

Result<void> remove_lost_and_found(const jar::WorkspaceImage& image) {
    const std::string device = "/dev/loop" + std::to_string(image.minor);
    BJ_TRY(const Fd mount, jar::make_filesystem("ext4", {{"source", device}, {"nobarrier", ""}},
                                                MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
    if (::unlinkat(mount.get(), "lost+found", AT_REMOVEDIR) != 0) {
        return fail(system_error("rmdir lost+found"));
    }
    return {};
}

}  // namespace

Result<WorkspaceTemplate> WorkspaceTemplate::start(const std::string& directory, Bytes size) {
    if (::access("/dev/loop-control", R_OK | W_OK) != 0 || ::access(kMkfs, X_OK) != 0) {
        return fail(system_error("loop devices and mkfs.ext4 are needed"));
    }
    BJ_TRY(Fd file, jar::make_nameless_file(directory, size));
    const pid_t mkfs = ::fork();
    if (mkfs < 0) {
        return fail(system_error("fork"));
    }
    if (mkfs == 0) {
        become_mkfs(file, size);
    }
    BJ_TRY(PidFd process, PidFd::open(mkfs));
    return WorkspaceTemplate(directory, std::move(file), std::move(process));
}

WorkspaceTemplate::~WorkspaceTemplate() {
    if (mkfs_.valid()) {
        [[maybe_unused]] const Result<void> killed = mkfs_.signal(SIGKILL);
        [[maybe_unused]] const Result<int> reaped = mkfs_.wait();
    }
}

Result<Fd> WorkspaceTemplate::take() {
    if (!mkfs_.valid()) {
        return fail(system_error("the template was taken before", ECHILD));
    }
    const PidFd mkfs = std::exchange(mkfs_, PidFd());
    BJ_TRY(const int status, mkfs.wait());
    if (status != 0) {
        return fail(system_error("mkfs.ext4 failed", EIO));
    }
    BJ_TRY(Fd compact, jar::make_nameless_file(directory_, size_of(file_)));
    // The device first: it waits until what is in its file has reached the disk.
    BJ_TRY(const jar::WorkspaceImage image, jar::attach_loop(compact, jar::LoopAccess::ReadWrite));
    BJ_TRY_VOID(copy_blocks(file_, compact));
    BJ_TRY_VOID(remove_lost_and_found(image));
    file_.reset();
    return compact;
}

}  // namespace belljar::keeper
