#include "jar/root_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>

#include "jar/device_tree.h"
#include "jar/mounts.h"
#include "jar/stage.h"

namespace belljar::jar {
namespace {

constexpr std::uint64_t kLocked = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr std::uint64_t kReadOnly = kLocked | MOUNT_ATTR_RDONLY;

Result<Fd> open_stage() {
    Fd stage(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!stage.valid()) {
        return fail(system_error("open the stage"));
    }
    return stage;
}

// By the mounted root and not by mount options, which would show the host's number to the guest.
Result<void> give_to_guest(const Fd& mount, const Spec& spec) {
    const uid_t user = spec.message.outer_user;
    if (::fchownat(mount.get(), "", user, user, AT_EMPTY_PATH) != 0) {
        return fail(system_error("fchown"));
    }
    return {};
}

// A tmpfs that belongs to the guest. Inodes are limited too: each costs kernel memory.
Result<Fd> make_guest_tmpfs(std::uint64_t size, const Spec& spec) {
    constexpr std::uint64_t kBytesPerInode = 4096;
    const std::uint64_t inodes = std::clamp<std::uint64_t>(size / kBytesPerInode, 64, 131072);
    BJ_TRY(Fd mount, make_filesystem("tmpfs",
                                     {{"size", std::to_string(size)},
                                      {"nr_inodes", std::to_string(inodes)},
                                      {"mode", "0700"}},
                                     kLocked));
    BJ_TRY_VOID(give_to_guest(mount, spec));
    return mount;
}

// Shows a directory of the stage read-only at `name`. Overlay tells the names it was given, and one
// without a path says nothing of the host. It needs a second layer where it has no upper one.
Result<void> show_layer(const Fd& root, const char* name, const std::string& layer) {
    BJ_TRY(const Fd overlay,
           make_filesystem("overlay", {{"lowerdir", layer + ":" + kEmpty}}, kReadOnly));
    return attach_mount(overlay, root, name);
}

// Shows `source` in the same way. Layers are mounted over each other and go with the stage: each
// unmount of its own would wait for all processors.
Result<void> show_directory(const Fd& root, const char* name, const std::string& source) {
    BJ_TRY(const Fd stage, open_stage());
    BJ_TRY(const Fd layer, clone_mount(source, kReadOnly, Depth::ThisMount));
    BJ_TRY_VOID(attach_mount(layer, stage, kLower));
    return show_layer(root, name, kLower);
}

bool is_directory_on_stage(const char* name) {
    struct stat status{};
    const std::string path = std::string(kLower) + "/" + name;
    return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool copy_link(int tree, const char* name, const Fd& root) {
    std::array<char, 64> target{};
    return ::readlinkat(tree, name, target.data(), target.size() - 1) > 0 &&
           ::symlinkat(target.data(), root.get(), name) == 0;
}

// Every link and every directory that the stage has at its top, without what is in them.
Result<void> copy_names(const Fd& root) {
    const std::unique_ptr<DIR, int (*)(DIR*)> names(::opendir(kLower), ::closedir);
    if (!names) {
        return fail(system_error("open the stage"));
    }
    while (const dirent* entry = ::readdir(names.get())) {
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") {
            continue;
        }
        const bool made = entry->d_type == DT_LNK
                              ? copy_link(::dirfd(names.get()), entry->d_name, root)
                              : ::mkdirat(root.get(), entry->d_name, 0755) == 0;
        if (!made) {
            return fail(system_error("create " + std::string(name)));
        }
    }
    return {};
}

// What programs ask the machine about itself. Everything else that is no process is covered.
constexpr std::array<std::string_view, 12> kShownInProc{
    "cpuinfo", "filesystems", "loadavg", "meminfo", "mounts",      "net",
    "self",    "stat",        "swaps",   "uptime",  "thread-self", "version"};

bool is_shown_in_proc(std::string_view name) {
    return name.find_first_not_of("0123456789") == std::string_view::npos || name == "." ||
           name == ".." || std::ranges::find(kShownInProc, name) != kShownInProc.end();
}

// Covers one entry: a directory with an empty one, a file with /dev/null.
Result<void> mask(const Fd& proc, const dirent& entry) {
    if (entry.d_type == DT_LNK) {
        return {};
    }
    if (entry.d_type == DT_DIR) {
        BJ_TRY(const Fd empty, make_filesystem("tmpfs", {{"size", "4k"}, {"nr_inodes", "1"}},
                                               kReadOnly | MOUNT_ATTR_NOEXEC));
        return attach_mount(empty, proc, entry.d_name);
    }
    BJ_TRY(const Fd nothing,
           clone_mount("/dev/null", kReadOnly | MOUNT_ATTR_NOEXEC, Depth::ThisMount));
    return attach_mount(nothing, proc, entry.d_name);
}

Result<void> mask_proc(const Fd& root) {
    const int proc = ::openat(root.get(), "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(proc), ::closedir);
    if (!entries) {
        return fail(system_error("open proc"));
    }
    const Fd directory(::fcntl(proc, F_DUPFD_CLOEXEC, 0));
    while (const dirent* entry = ::readdir(entries.get())) {
        if (!is_shown_in_proc(entry->d_name)) {
            BJ_TRY_VOID(mask(directory, *entry));
        }
    }
    return {};
}

std::string base_of(const Spec& spec) { return spec.message.root.data(); }

}  // namespace

Result<void> make_mounts_private() {
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
        return fail(system_error("mount MS_PRIVATE"));
    }
    return {};
}

Result<Fd> make_root() {
    BJ_TRY(const Fd stage, open_stage());
    BJ_TRY(Fd root,
           make_filesystem("tmpfs", {{"size", "64k"}, {"nr_inodes", "64"}, {"mode", "0755"}},
                           kLocked));
    // Mounts can be attached below it only once it is part of the mount namespace.
    BJ_TRY_VOID(attach_mount(root, stage, kRoot));
    BJ_TRY_VOID(copy_names(root));
    return root;
}

Result<void> mount_files(const Fd& root, const Spec& spec) {
    const std::string files = std::string(kLower) + "/";
    if (!has_own_etc(spec.message.root)) {
        BJ_TRY_VOID(show_layer(root, "etc", files + "etc"));
    }
    return show_layer(root, "tools", files + "tools");
}

Result<void> mount_system(const Fd& root, const Spec& spec) {
    const std::string base = base_of(spec);
    std::vector<const char*> shown{"usr"};
    // Where they are no links into /usr. Looked for before a layer covers them.
    std::ranges::copy_if(kBesideUsr, std::back_inserter(shown), is_directory_on_stage);
    if (has_own_etc(spec.message.root)) {
        shown.push_back("etc");
    }
    for (const char* name : shown) {
        BJ_TRY_VOID(show_directory(root, name, base + "/" + name));
    }
    return {};
}

Result<void> mount_logs(const Fd& root, const Spec& spec) {
    const std::string logs = spec.message.logs.data();
    if (logs.empty()) {
        return {};
    }
    // Whoever writes logs may take the directory away; a jar without it is as tight as one with it.
    return ::access(logs.c_str(), F_OK) == 0 ? show_directory(root, "logs", logs) : Result<void>{};
}

Result<void> mount_proc(const Fd& root, const Spec& spec) {
    if (spec.message.guest == GuestKind::Zygote) {
        return {};  // the processes around it are not its own to see
    }
    std::vector<MountOption> options{{"hidepid", "ptraceable"}};
    const bool masked = spec.message.proc == ProcView::Masked;
    if (!masked) {
        options.push_back({"subset", "pid"});
    }
    BJ_TRY(const Fd mount, make_filesystem("proc", options, kReadOnly | MOUNT_ATTR_NOEXEC));
    BJ_TRY_VOID(attach_mount(mount, root, "proc"));
    return masked ? mask_proc(root) : Result<void>{};
}

Result<void> mount_dev(const Fd& root, const Spec& spec) {
    BJ_TRY_VOID(spec.devices.valid() ? attach_mount(spec.devices, root, "dev")
                                     : show_device_tree(root, "dev"));
    BJ_TRY(const Fd memory, make_guest_tmpfs(spec.message.tmp_bytes, spec));
    return attach_mount(memory, root, "dev/shm");
}

Result<Fd> mount_tmp(const Fd& root, const Spec& spec) {
    BJ_TRY(const Fd mount, make_guest_tmpfs(spec.message.tmp_bytes, spec));
    BJ_TRY_VOID(attach_mount(mount, root, "tmp"));
    return open_place(root, "tmp");
}

Result<Fd> mount_workspace(const Fd& root, const Spec& spec) {
    if (spec.message.workspace == WorkspaceKind::Mount) {
        BJ_TRY_VOID(attach_mount(spec.workspace, root, "workspace"));
    } else {
        BJ_TRY(const Fd mount, make_guest_tmpfs(spec.message.workspace_bytes, spec));
        BJ_TRY_VOID(attach_mount(mount, root, "workspace"));
    }
    return open_place(root, "workspace");
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

}  // namespace belljar::jar
