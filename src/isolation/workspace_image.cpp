#include "isolation/workspace_image.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

namespace belljar::isolation {
namespace {

constexpr const char* kMkfs = "/usr/sbin/mkfs.ext4";
constexpr std::uint64_t kBytesPerInode = 8192;
constexpr std::uint64_t kMostInodes = 262'144;
constexpr int kLoopAttempts = 64;

// A file without a name, in a directory that may be anybody's.
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

[[noreturn]] void become_mkfs(const Fd& file, Bytes size) {
    const std::uint64_t inodes =
        std::clamp<std::uint64_t>(size.count / kBytesPerInode, 64, kMostInodes);
    std::array<std::string, 13> words{"mkfs.ext4",
                                      "-q",
                                      "-F",
                                      "-b",
                                      "4096",
                                      "-O",
                                      "^has_journal,^resize_inode,^metadata_csum",
                                      "-m",
                                      "0",
                                      "-E",
                                      "nodiscard,lazy_itable_init=1",
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

// Only what the template holds; the rest stays a hole.
Result<void> copy_content(const Fd& from, const Fd& to) {
    std::vector<char> buffer(256 * 1024);
    off_t position = 0;
    while (true) {
        const off_t begin = ::lseek(from.get(), position, SEEK_DATA);
        if (begin < 0) {
            return errno == ENXIO ? Result<void>{} : fail(system_error("SEEK_DATA"));
        }
        position = ::lseek(from.get(), begin, SEEK_HOLE);
        for (off_t at = begin; at < position;) {
            const auto wanted = std::min(buffer.size(), static_cast<std::size_t>(position - at));
            const ssize_t count = ::pread(from.get(), buffer.data(), wanted, at);
            if (count <= 0 ||
                ::pwrite(to.get(), buffer.data(), static_cast<std::size_t>(count), at) != count) {
                return fail(system_error("copy the image"));
            }
            at += count;
        }
    }
}

// Another process may take the free device between the question and its use.
Result<WorkspaceImage> attach_loop(const Fd& file, std::uint32_t flags) {
    const Fd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    if (!control.valid()) {
        return fail(system_error("open loop-control"));
    }
    loop_config setup{};
    setup.fd = static_cast<std::uint32_t>(file.get());
    setup.block_size = 4096;
    setup.info.lo_flags = LO_FLAGS_AUTOCLEAR | flags;
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

}  // namespace

Result<WorkspaceImage> attach_image(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) {
        return fail(system_error("open the image of the root"));
    }
    return attach_loop(file, LO_FLAGS_READ_ONLY);
}

WorkspaceImages& WorkspaceImages::operator=(WorkspaceImages&& other) noexcept {
    directory_ = std::move(other.directory_);
    template_ = std::move(other.template_);
    std::swap(mkfs_, other.mkfs_);
    return *this;
}

Result<WorkspaceImages> WorkspaceImages::create(const std::string& directory, Bytes size) {
    if (::access("/dev/loop-control", R_OK | W_OK) != 0 || ::access(kMkfs, X_OK) != 0) {
        return fail(system_error("loop devices and mkfs.ext4 are needed"));
    }
    WorkspaceImages images;
    images.directory_ = directory;
    BJ_TRY(images.template_, make_nameless_file(directory, size));
    images.mkfs_ = ::fork();
    if (images.mkfs_ < 0) {
        return fail(system_error("fork"));
    }
    if (images.mkfs_ == 0) {
        become_mkfs(images.template_, size);
    }
    return images;
}

Result<WorkspaceImage> WorkspaceImages::make() {
    BJ_TRY_VOID(await_template());
    struct stat status{};
    if (::fstat(template_.get(), &status) != 0) {
        return fail(system_error("fstat"));
    }
    BJ_TRY(const Fd file,
           make_nameless_file(directory_, Bytes{static_cast<std::uint64_t>(status.st_size)}));
    BJ_TRY_VOID(copy_content(template_, file));
    return attach_loop(file, 0);
}

Result<void> WorkspaceImages::await_template() {
    if (mkfs_ == 0) {
        return {};
    }
    int status = 0;
    const pid_t ended = ::waitpid(std::exchange(mkfs_, 0), &status, 0);
    if (ended < 0 || status != 0) {
        template_.reset();
        return fail(system_error("mkfs.ext4 failed", EIO));
    }
    return {};
}

void WorkspaceImages::stop_mkfs() {
    if (mkfs_ > 0) {
        ::kill(mkfs_, SIGKILL);
        ::waitpid(mkfs_, nullptr, 0);
    }
}

}  // namespace belljar::isolation
