#include "jar/device_tree.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "jar/mounts.h"

namespace belljar::jar {
namespace {

constexpr std::uint64_t kAttributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;

struct Device {
    const char* name;
    unsigned minor;
};

// Memory devices, major 1 on every Linux.
constexpr std::array<Device, 5> kDevices{
    {{"null", 3}, {"zero", 5}, {"full", 7}, {"random", 8}, {"urandom", 9}}};

struct Link {
    const char* name;
    const char* target;
};

constexpr std::array<Link, 4> kLinks{{{"fd", "/proc/self/fd"},
                                      {"stdin", "/proc/self/fd/0"},
                                      {"stdout", "/proc/self/fd/1"},
                                      {"stderr", "/proc/self/fd/2"}}};

Result<void> make_device(const Fd& dev, const Device& device) {
    if (::mknodat(dev.get(), device.name, S_IFCHR | 0666, makedev(1, device.minor)) != 0 ||
        ::fchmodat(dev.get(), device.name, 0666, 0) != 0) {
        return fail(system_error(std::string("mknod ") + device.name));
    }
    return {};
}

// The one shown is checked after it was opened: whoever could swap the host's file for another kind
// of node gains nothing.
Result<void> show_device(const Fd& dev, const Device& device) {
    BJ_TRY(const Fd node,
           clone_mount(std::string("/dev/") + device.name, kAttributes, Depth::ThisMount));
    struct stat status{};
    if (::fstat(node.get(), &status) != 0) {
        return fail(system_error("fstat device"));
    }
    if (!S_ISCHR(status.st_mode) || status.st_rdev != makedev(1, device.minor)) {
        return fail(system_error(std::string("not the device: ") + device.name, ENODEV));
    }
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    if (!Fd(::openat(dev.get(), device.name, kFlags, 0444)).valid()) {
        return fail(system_error(std::string("create ") + device.name));
    }
    return attach_mount(node, dev, device.name);
}

Result<Fd> make_tmpfs() {
    return make_filesystem("tmpfs", {{"size", "64k"}, {"nr_inodes", "32"}, {"mode", "0755"}},
                           kAttributes);
}

// The links, the place of /dev/shm, and nothing more: what is written to a device goes to no file.
Result<void> finish(const Fd& dev) {
    for (const Link& link : kLinks) {
        if (::symlinkat(link.target, dev.get(), link.name) != 0) {
            return fail(system_error(std::string("symlink ") + link.name));
        }
    }
    if (::mkdirat(dev.get(), "shm", 0755) != 0) {
        return fail(system_error("mkdir shm"));
    }
    return set_mount_attributes(dev, MOUNT_ATTR_RDONLY, Depth::ThisMount);
}

}  // namespace

Result<Fd> make_device_tree() {
    BJ_TRY(Fd dev, make_tmpfs());
    for (const Device& device : kDevices) {
        BJ_TRY_VOID(make_device(dev, device));
    }
    BJ_TRY_VOID(finish(dev));
    return dev;
}

Result<void> show_device_tree(const Fd& root, const char* name) {
    BJ_TRY(const Fd dev, make_tmpfs());
    // Mounts can be attached below it only once it is part of the mount namespace.
    BJ_TRY_VOID(attach_mount(dev, root, name));
    for (const Device& device : kDevices) {
        BJ_TRY_VOID(show_device(dev, device));
    }
    return finish(dev);
}

}  // namespace belljar::jar
