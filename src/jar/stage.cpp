#include "jar/stage.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>

#include "jar/mounts.h"
#include "jar/tool_tree.h"

namespace belljar::jar {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kMostInodes = 16384;

Error named_error(const char* call, std::string_view name) {
    return system_error(std::string(call) + " " + std::string(name));
}

Result<void> make_directory(const Fd& parent, const char* name) {
    return ::mkdirat(parent.get(), name, 0755) == 0 ? Result<void>{}
                                                    : fail(named_error("mkdir", name));
}

Result<void> make_link(const Fd& parent, const char* name, const char* target) {
    return ::symlinkat(target, parent.get(), name) == 0 ? Result<void>{}
                                                        : fail(named_error("symlink", name));
}

Result<void> make_file(const Fd& parent, const char* name, std::string_view content) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    const Fd file(::openat(parent.get(), name, kFlags, 0444));
    if (!file.valid()) {
        return fail(named_error("create", name));
    }
    return write_all(file, content);
}

// On merged-/usr systems /bin, /lib and so on are links into /usr; elsewhere they are directories.
Result<void> make_system_place(const Fd& tree, const std::string& base, const char* name) {
    std::array<char, 64> target{};
    const std::string path = base + "/" + name;
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size() - 1);
    if (length < 0) {
        return errno == ENOENT ? Result<void>{} : make_directory(tree, name);
    }
    const std::string_view text(target.data(), static_cast<std::size_t>(length));
    const std::string inside = std::string("usr/") + name;
    if (text != inside && text != "/" + inside) {
        return fail(system_error("unexpected link " + path, EINVAL));
    }
    return make_link(tree, name, inside.c_str());
}

// Only links are taken over: what else may be there, nobody looks for.
Result<void> copy_alternatives(const Fd& etc) {
    BJ_TRY_VOID(make_directory(etc, "alternatives"));
    BJ_TRY(const Fd copy, open_place(etc, "alternatives"));
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(kAlternatives), ::closedir);
    if (!entries) {
        return fail(named_error("open", kAlternatives));
    }
    while (const dirent* entry = ::readdir(entries.get())) {
        std::array<char, kPage> target{};
        const ssize_t length =
            ::readlinkat(::dirfd(entries.get()), entry->d_name, target.data(), target.size() - 1);
        if (length > 0) {
            BJ_TRY_VOID(make_link(copy, entry->d_name, target.data()));
        }
    }
    return {};
}

// Libraries that draw refuse to work without these files, or complain on the program's stderr.
Result<void> write_font_settings(const Fd& etc) {
    BJ_TRY_VOID(make_file(etc, "matplotlibrc", "backend: Agg\n"));
    BJ_TRY_VOID(make_directory(etc, "fonts"));
    BJ_TRY(const Fd fonts, open_place(etc, "fonts"));
    return make_file(fonts, "fonts.conf",
                     "<?xml version=\"1.0\"?>\n"
                     "<fontconfig>\n"
                     "  <dir>/usr/share/fonts</dir>\n"
                     "  <dir>/usr/local/share/fonts</dir>\n"
                     "  <cachedir>/tmp/fontconfig</cachedir>\n"
                     "</fontconfig>\n");
}

// The host's is not shown.
Result<void> write_etc(const Fd& tree) {
    BJ_TRY(const Fd etc, open_place(tree, "etc"));
    const std::string user = std::to_string(kInnerUser);
    BJ_TRY_VOID(
        make_file(etc, "passwd", "guest:x:" + user + ":" + user + ":guest:/workspace:/bin/sh\n"));
    BJ_TRY_VOID(make_file(etc, "group", "guest:x:" + user + ":\n"));
    BJ_TRY_VOID(make_file(etc, "hosts", "127.0.0.1 localhost jar\n::1 localhost\n"));
    // Lookups of names go to the jar's own loopback, where nobody answers and init can see them.
    BJ_TRY_VOID(make_file(etc, "nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"));
    BJ_TRY_VOID(make_file(etc, "resolv.conf", "nameserver 127.0.0.1\n"));
    BJ_TRY_VOID(write_font_settings(etc));
    return ::access(kAlternatives, F_OK) == 0 ? copy_alternatives(etc) : Result<void>{};
}

Result<void> write_tree(const Fd& tree, const StagePlan& plan, const Fd& pack) {
    for (const char* name : {"usr", "proc", "dev", "tmp", "workspace", "etc", "tools"}) {
        BJ_TRY_VOID(make_directory(tree, name));
    }
    BJ_TRY_VOID(make_link(tree, "data", "workspace"));
    for (const char* name : kBesideUsr) {
        BJ_TRY_VOID(make_system_place(tree, plan.root.data(), name));
    }
    if (plan.shows_logs == 1) {
        BJ_TRY_VOID(make_directory(tree, "logs"));
    }
    if (!has_own_etc(plan.root)) {
        BJ_TRY_VOID(write_etc(tree));
    }
    if (!pack.valid()) {
        return {};
    }
    BJ_TRY(const Fd tools, open_place(tree, "tools"));
    return unpack_tools(pack, tools);
}

}  // namespace

bool has_own_etc(const HostPath& root) {
    const std::string base = root.data();
    return !base.empty() && ::access((base + "/etc").c_str(), F_OK) == 0;
}

Result<Fd> make_stage(const StagePlan& plan, const Fd& pack) {
    // The last page of a file is not full.
    constexpr std::uint64_t kRoom = kLargestToolPack + kMostInodes * kPage;
    BJ_TRY(Fd stage, make_filesystem("tmpfs",
                                     {{"size", std::to_string(kRoom)},
                                      {"nr_inodes", std::to_string(kMostInodes)},
                                      {"mode", "0755"}},
                                     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
    for (const char* name : {kLower, kEmpty, kRoot}) {
        BJ_TRY_VOID(make_directory(stage, name));
    }
    BJ_TRY(const Fd tree, open_place(stage, kLower));
    BJ_TRY_VOID(write_tree(tree, plan, pack));
    BJ_TRY_VOID(set_mount_attributes(stage, MOUNT_ATTR_RDONLY, Depth::ThisMount));
    return stage;
}

}  // namespace belljar::jar
