#include "jar/mounts.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace belljar::jar {
namespace {

int as_fd(long number) { return static_cast<int>(number); }

}  // namespace

Result<Fd> make_filesystem(const char* type, const std::vector<MountOption>& options,
                           std::uint64_t attributes) {
    const Fd context(as_fd(::syscall(SYS_fsopen, type, FSOPEN_CLOEXEC)));
    if (!context.valid()) {
        return fail(system_error(std::string("fsopen ") + type));
    }
    for (const MountOption& option : options) {
        const bool flag = option.value.empty();
        const long done =
            ::syscall(SYS_fsconfig, context.get(), flag ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING,
                      option.key, flag ? nullptr : option.value.c_str(), 0);
        if (done != 0) {
            return fail(system_error(std::string("fsconfig ") + type + " " + option.key));
        }
    }
    if (::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
        return fail(system_error(std::string("create ") + type));
    }
    Fd mount(as_fd(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, attributes)));
    if (!mount.valid()) {
        return fail(system_error(std::string("fsmount ") + type));
    }
    return mount;
}

Result<Fd> clone_mount(const std::string& path, std::uint64_t attributes, Depth depth) {
    const unsigned recursive = depth == Depth::Everything ? AT_RECURSIVE : 0U;
    Fd mount(as_fd(::syscall(SYS_open_tree, AT_FDCWD, path.c_str(),
                             OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | recursive)));
    if (!mount.valid()) {
        return fail(system_error("open_tree"));
    }
    BJ_TRY_VOID(set_mount_attributes(mount, attributes, depth));
    return mount;
}

Result<void> attach_mount(const Fd& mount, const Fd& directory, const char* path) {
    if (::syscall(SYS_move_mount, mount.get(), "", directory.get(), path,
                  MOVE_MOUNT_F_EMPTY_PATH) != 0) {
        return fail(system_error(std::string("move_mount ") + path));
    }
    return {};
}

Result<Fd> open_place(const Fd& parent, const char* name) {
    Fd place(::openat(parent.get(), name, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!place.valid()) {
        return fail(system_error(std::string("open ") + name));
    }
    return place;
}

Result<void> set_mount_attributes(const Fd& mount, std::uint64_t attributes, Depth depth) {
    mount_attr change{};
    change.attr_set = attributes;
    const int flags = AT_EMPTY_PATH | (depth == Depth::Everything ? AT_RECURSIVE : 0);
    if (::syscall(SYS_mount_setattr, mount.get(), "", flags, &change, sizeof(change)) != 0) {
        return fail(system_error("mount_setattr"));
    }
    return {};
}

}  // namespace belljar::jar
