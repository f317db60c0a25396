#include "isolation/root_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "isolation/mounts.h"

namespace belljar::isolation {
namespace {

constexpr std::uint64_t kLocked = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr std::uint64_t kReadOnly = kLocked | MOUNT_ATTR_RDONLY;

Result<void> make_directory(const Fd& parent, const char* name, mode_t mode) {
    if (::mkdirat(parent.get(), name, mode) != 0) {
        return fail(system_error(fmt::format("mkdir {}", name)));
    }
    return {};
}

Result<void> make_link(const Fd& parent, const char* name, const char* target) {
    if (::symlinkat(target, parent.get(), name) != 0) {
        return fail(system_error(fmt::format("symlink {}", name)));
    }
    return {};
}

Result<void> make_file(const Fd& parent, const char* name, std::string_view content) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    const Fd file(::openat(parent.get(), name, kFlags, 0444));
    if (!file.valid()) {
        return fail(system_error(fmt::format("create {}", name)));
    }
    return write_all(file, content);
}

Result<Fd> open_child(const Fd& parent, const char* name) {
    Fd child(::openat(parent.get(), name, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!child.valid()) {
        return fail(system_error(fmt::format("open {}", name)));
    }
    return child;
}

// A tmpfs that belongs to the guest. Inodes are limited too: each costs kernel memory.
Result<Fd> make_guest_tmpfs(Bytes size, uid_t owner) {
    constexpr std::uint64_t kBytesPerInode = 4096;
    const std::uint64_t inodes = std::clamp<std::uint64_t>(size.count / kBytesPerInode, 64, 65536);
    const std::string user = std::to_string(owner);
    return make_filesystem("tmpfs",
                           {{"size", std::to_string(size.count)},
                            {"nr_inodes", std::to_string(inodes)},
                            {"mode", "0700"},
                            {"uid", user},
                            {"gid", user}},
                           kLocked);
}

Result<void> mount_guest_tmpfs(const Fd& parent, const char* name, Bytes size, uid_t owner) {
    BJ_TRY_VOID(make_directory(parent, name, 0755));
    BJ_TRY(const Fd mount, make_guest_tmpfs(size, owner));
    return attach_mount(mount, parent, name);
}

// Shows a host directory read-only at the same place.
Result<void> show_host_directory(const Fd& root, const std::string& name) {
    BJ_TRY(const Fd mount, clone_mount("/" + name, kReadOnly));
    BJ_TRY_VOID(make_directory(root, name.c_str(), 0755));
    return attach_mount(mount, root, name.c_str());
}

// On merged-/usr systems /bin, /lib and so on are links into /usr; elsewhere they are directories.
Result<void> show_system_directory(const Fd& root, const std::string& name) {
    std::array<char, 64> target{};
    const std::string path = "/" + name;
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size() - 1);
    if (length > 0) {
        const std::string_view text(target.data(), static_cast<std::size_t>(length));
        if (text != "usr/" + name && text != "/usr/" + name) {
            return fail(system_error("unexpected link " + path, EINVAL));
        }
        return make_link(root, name.c_str(), ("usr/" + name).c_str());
    }
    if (errno == ENOENT) {
        return {};
    }
    return show_host_directory(root, name);
}

struct Device {
    const char* name;
    unsigned minor;
};

// Memory devices, major 1 on every Linux.
constexpr std::array<Device, 5> kDevices{
    {{"null", 3}, {"zero", 5}, {"full", 7}, {"random", 8}, {"urandom", 9}}};

// The node is checked after it was opened: whoever could swap the host's file for another kind of
// node gains nothing.
Result<void> show_device(const Fd& dev, const Device& device) {
    BJ_TRY(const Fd node,
           clone_mount(fmt::format("/dev/{}", device.name), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
    struct stat status{};
    if (::fstat(node.get(), &status) != 0) {
        return fail(system_error("fstat device"));
    }
    if (!S_ISCHR(status.st_mode) || status.st_rdev != makedev(1, device.minor)) {
        return fail(
            system_error(fmt::format("/dev/{} is not what it should be", device.name), ENODEV));
    }
    BJ_TRY_VOID(make_file(dev, device.name, ""));
    return attach_mount(node, dev, device.name);
}

}  // namespace

Result<void> make_mounts_private() {
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
        return fail(system_error("mount MS_PRIVATE"));
    }
    return {};
}

Result<Fd> make_root() {
    BJ_TRY(Fd root,
           make_filesystem("tmpfs", {{"size", "1m"}, {"nr_inodes", "256"}, {"mode", "0755"}},
                           kLocked));
    // Mounts can be attached below it only once it is part of the mount namespace. /proc always
    // exists, and the host's is not needed any more.
    const Fd host_root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    BJ_TRY_VOID(attach_mount(root, host_root, "proc"));
    return root;
}

Result<void> mount_system(const Fd& root) {
    BJ_TRY_VOID(show_host_directory(root, "usr"));
    for (const char* name : {"bin", "sbin", "lib", "lib32", "lib64", "libx32"}) {
        BJ_TRY_VOID(show_system_directory(root, name));
    }
    return {};
}

Result<void> mount_proc(const Fd& root) {
    BJ_TRY_VOID(make_directory(root, "proc", 0555));
    BJ_TRY(const Fd mount, make_filesystem("proc", {{"hidepid", "invisible"}, {"subset", "pid"}},
                                           kReadOnly | MOUNT_ATTR_NOEXEC));
    return attach_mount(mount, root, "proc");
}

Result<void> mount_dev(const Fd& root, const JarSpec& spec) {
    BJ_TRY_VOID(make_directory(root, "dev", 0755));
    BJ_TRY(const Fd mount,
           make_filesystem("tmpfs", {{"size", "64k"}, {"nr_inodes", "32"}, {"mode", "0755"}},
                           MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC));
    BJ_TRY_VOID(attach_mount(mount, root, "dev"));
    for (const Device& device : kDevices) {
        BJ_TRY_VOID(show_device(mount, device));
    }
    BJ_TRY_VOID(make_link(mount, "fd", "/proc/self/fd"));
    BJ_TRY_VOID(make_link(mount, "stdin", "/proc/self/fd/0"));
    BJ_TRY_VOID(make_link(mount, "stdout", "/proc/self/fd/1"));
    BJ_TRY_VOID(make_link(mount, "stderr", "/proc/self/fd/2"));
    BJ_TRY_VOID(mount_guest_tmpfs(mount, "shm", spec.limits.tmp, spec.host_user));
    // The devices and /dev/shm below stay writable.
    return set_mount_attributes(mount, MOUNT_ATTR_RDONLY, Depth::ThisMount);
}

Result<void> mount_tmp(const Fd& root, const JarSpec& spec) {
    return mount_guest_tmpfs(root, "tmp", spec.limits.tmp, spec.host_user);
}

Result<Fd> mount_workspace(const Fd& root, const JarSpec& spec) {
    BJ_TRY_VOID(mount_guest_tmpfs(root, "workspace", spec.limits.workspace, spec.host_user));
    BJ_TRY_VOID(make_link(root, "data", "workspace"));
    return open_child(root, "workspace");
}

Result<void> write_etc(const Fd& root) {
    BJ_TRY_VOID(make_directory(root, "etc", 0755));
    BJ_TRY(const Fd etc_path, open_child(root, "etc"));
    BJ_TRY_VOID(make_file(etc_path, "passwd",
                          fmt::format("guest:x:{0}:{0}:guest:/workspace:/bin/sh\n", kInnerUser)));
    BJ_TRY_VOID(make_file(etc_path, "group", fmt::format("guest:x:{}:\n", kInnerUser)));
    BJ_TRY_VOID(make_file(etc_path, "hosts", "127.0.0.1 localhost jar\n::1 localhost\n"));
    BJ_TRY_VOID(
        make_file(etc_path, "nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"));
    // Debian's links to the chosen of several equal programs and libraries, such as BLAS.
    if (::access("/etc/alternatives", F_OK) != 0) {
        return {};
    }
    BJ_TRY(const Fd alternatives, clone_mount("/etc/alternatives", kReadOnly));
    BJ_TRY_VOID(make_directory(etc_path, "alternatives", 0755));
    return attach_mount(alternatives, etc_path, "alternatives");
}

Result<void> seal_root(const Fd& root) {
    // /tmp, /workspace and /dev/shm below stay writable.
    return set_mount_attributes(root, MOUNT_ATTR_RDONLY, Depth::ThisMount);
}

Result<void> pivot_into(const Fd& root) {
    if (::fchdir(root.get()) != 0) {
        return fail(system_error("fchdir"));
    }
    // With both arguments "." the old root ends up mounted over the new one, and is then detached.
    if (::syscall(SYS_pivot_root, ".", ".") != 0) {
        return fail(system_error("pivot_root"));
    }
    if (::umount2(".", MNT_DETACH) != 0) {
        return fail(system_error("umount2"));
    }
    if (::chdir("/") != 0) {
        return fail(system_error("chdir"));
    }
    return {};
}

}  // namespace belljar::isolation
