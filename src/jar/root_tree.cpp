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
#include <cerrno>
#include <memory>

#include "jar/device_tree.h"
#include "jar/mounts.h"

namespace belljar::jar {
namespace {

constexpr std::uint64_t kLocked = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr std::uint64_t kReadOnly = kLocked | MOUNT_ATTR_RDONLY;

// Names on the stage.
constexpr const char* kLower = "lower";
constexpr const char* kEmpty = "empty";
constexpr const char* kRoot = "root";

Error named_error(const char* call, std::string_view name) {
    return system_error(std::string(call) + " " + std::string(name));
}

Result<void> make_directory(const Fd& parent, const char* name, mode_t mode) {
    if (::mkdirat(parent.get(), name, mode) != 0) {
        return fail(named_error("mkdir", name));
    }
    return {};
}

Result<void> make_link(const Fd& parent, const char* name, const char* target) {
    if (::symlinkat(target, parent.get(), name) != 0) {
        return fail(named_error("symlink", name));
    }
    return {};
}

Result<void> make_file(const Fd& parent, const char* name, std::string_view content) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    const Fd file(::openat(parent.get(), name, kFlags, 0444));
    if (!file.valid()) {
        return fail(named_error("create", name));
    }
    return write_all(file, content);
}

Result<Fd> open_child(const Fd& parent, const char* name) {
    Fd child(::openat(parent.get(), name, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!child.valid()) {
        return fail(named_error("open", name));
    }
    return child;
}

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

// Shows `source` read-only at `name`. An overlay needs a second layer where it has no upper one.
// Layers are mounted over each other and go with the stage: each unmount of its own would wait for
// all processors.
Result<void> show_directory(const Fd& root, const char* name, const std::string& source) {
    BJ_TRY(const Fd stage, open_stage());
    BJ_TRY(const Fd layer, clone_mount(source, kReadOnly, Depth::ThisMount));
    BJ_TRY_VOID(attach_mount(layer, stage, kLower));
    BJ_TRY(
        const Fd overlay,
        make_filesystem("overlay", {{"lowerdir", std::string(kLower) + ":" + kEmpty}}, kReadOnly));
    BJ_TRY_VOID(make_directory(root, name, 0755));
    return attach_mount(overlay, root, name);
}

// On merged-/usr systems /bin, /lib and so on are links into /usr; elsewhere they are directories.
Result<void> show_system_directory(const Fd& root, const std::string& base,
                                   const std::string& name) {
    std::array<char, 64> target{};
    const std::string path = base + "/" + name;
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size() - 1);
    if (length > 0) {
        const std::string_view text(target.data(), static_cast<std::size_t>(length));
        if (text != "usr/" + name && text != "/usr/" + name) {
            return fail(system_error("unexpected link " + path, EINVAL));
        }
        return make_link(root, name.c_str(), ("usr/" + name).c_str());
    }
    return errno == ENOENT ? Result<void>{} : show_directory(root, name.c_str(), path);
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

// Libraries that draw refuse to work without these files, or complain on the program's stderr.
Result<void> write_font_settings(const Fd& etc) {
    BJ_TRY_VOID(make_file(etc, "matplotlibrc", "backend: Agg\n"));
    BJ_TRY_VOID(make_directory(etc, "fonts", 0755));
    BJ_TRY(const Fd fonts, open_child(etc, "fonts"));
    return make_file(fonts, "fonts.conf",
                     "<?xml version=\"1.0\"?>\n"
                     "<fontconfig>\n"
                     "  <dir>/usr/share/fonts</dir>\n"
                     "  <dir>/usr/local/share/fonts</dir>\n"
                     "  <cachedir>/tmp/fontconfig</cachedir>\n"
                     "</fontconfig>\n");
}

std::string base_of(const Spec& spec) { return spec.message.root.data(); }

}  // namespace

Result<void> make_mounts_private() {
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
        return fail(system_error("mount MS_PRIVATE"));
    }
    return {};
}

Result<void> make_stage() {
    // /proc always exists, and the host's is not needed any more.
    BJ_TRY(const Fd stage,
           make_filesystem("tmpfs", {{"size", "64k"}, {"nr_inodes", "32"}, {"mode", "0700"}},
                           kLocked));
    const Fd host_root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    BJ_TRY_VOID(attach_mount(stage, host_root, "proc"));
    for (const char* name : {kLower, kEmpty, kRoot}) {
        BJ_TRY_VOID(make_directory(stage, name, 0755));
    }
    if (::fchdir(stage.get()) != 0) {
        return fail(system_error("fchdir"));
    }
    return {};
}

Result<Fd> make_root() {
    BJ_TRY(const Fd stage, open_stage());
    BJ_TRY(Fd root,
           make_filesystem("tmpfs", {{"size", "1m"}, {"nr_inodes", "256"}, {"mode", "0755"}},
                           kLocked));
    // Mounts can be attached below it only once it is part of the mount namespace.
    BJ_TRY_VOID(attach_mount(root, stage, kRoot));
    return root;
}

Result<void> mount_system(const Fd& root, const Spec& spec) {
    const std::string base = base_of(spec);
    BJ_TRY_VOID(show_directory(root, "usr", base + "/usr"));
    for (const char* name : {"bin", "sbin", "lib", "lib32", "lib64", "libx32"}) {
        BJ_TRY_VOID(show_system_directory(root, base, name));
    }
    return {};
}

Result<void> mount_logs(const Fd& root, const Spec& spec) {
    const std::string logs = spec.message.logs.data();
    if (logs.empty()) {
        return {};
    }
    // Whoever writes logs may take the directory away; a jar without it is as tight as one with it.
    return ::access(logs.c_str(), F_OK) == 0 ? show_directory(root, "logs", logs)
                                             : make_directory(root, "logs", 0755);
}

Result<void> mount_proc(const Fd& root, const Spec& spec) {
    BJ_TRY_VOID(make_directory(root, "proc", 0555));
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
    BJ_TRY_VOID(make_directory(root, "dev", 0755));
    BJ_TRY_VOID(spec.devices.valid() ? attach_mount(spec.devices, root, "dev")
                                     : show_device_tree(root, "dev"));
    BJ_TRY(const Fd memory, make_guest_tmpfs(spec.message.tmp_bytes, spec));
    return attach_mount(memory, root, "dev/shm");
}

Result<Fd> mount_tmp(const Fd& root, const Spec& spec) {
    BJ_TRY_VOID(make_directory(root, "tmp", 0755));
    BJ_TRY(const Fd mount, make_guest_tmpfs(spec.message.tmp_bytes, spec));
    BJ_TRY_VOID(attach_mount(mount, root, "tmp"));
    return open_child(root, "tmp");
}

Result<Fd> mount_workspace(const Fd& root, const Spec& spec) {
    BJ_TRY_VOID(make_directory(root, "workspace", 0755));
    BJ_TRY_VOID(make_link(root, "data", "workspace"));
    if (spec.message.workspace == WorkspaceKind::Mount) {
        BJ_TRY_VOID(attach_mount(spec.workspace, root, "workspace"));
    } else {
        BJ_TRY(const Fd mount, make_guest_tmpfs(spec.message.workspace_bytes, spec));
        BJ_TRY_VOID(attach_mount(mount, root, "workspace"));
    }
    return open_child(root, "workspace");
}

Result<void> write_etc(const Fd& root, const Spec& spec) {
    const std::string etc = base_of(spec) + "/etc";
    if (!base_of(spec).empty() && ::access(etc.c_str(), F_OK) == 0) {
        return show_directory(root, "etc", etc);
    }
    BJ_TRY_VOID(make_directory(root, "etc", 0755));
    BJ_TRY(const Fd etc_path, open_child(root, "etc"));
    const std::string user = std::to_string(kInnerUser);
    BJ_TRY_VOID(make_file(etc_path, "passwd",
                          "guest:x:" + user + ":" + user + ":guest:/workspace:/bin/sh\n"));
    BJ_TRY_VOID(make_file(etc_path, "group", "guest:x:" + user + ":\n"));
    BJ_TRY_VOID(make_file(etc_path, "hosts", "127.0.0.1 localhost jar\n::1 localhost\n"));
    // Lookups of names go to the jar's own loopback, where nobody answers and init can see them.
    BJ_TRY_VOID(
        make_file(etc_path, "nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"));
    BJ_TRY_VOID(make_file(etc_path, "resolv.conf", "nameserver 127.0.0.1\n"));
    BJ_TRY_VOID(write_font_settings(etc_path));
    // Debian's links to the chosen of several equal programs and libraries, such as BLAS.
    if (::access("/etc/alternatives", F_OK) != 0) {
        return {};
    }
    return show_directory(etc_path, "alternatives", "/etc/alternatives");
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
