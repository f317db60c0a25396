#include "jar/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace belljar::jar {
namespace {

using Entries = std::unique_ptr<DIR, int (*)(DIR*)>;

Entries list(const Fd& directory) {
    const int own = ::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return {own < 0 ? nullptr : ::fdopendir(own), ::closedir};
}

Fd open_below(const Fd& parent, const char* name) {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int opened = ::openat(parent.get(), name, kFlags);
    if (opened < 0 && errno == EACCES &&
        ::fchmodat(parent.get(), name, 0700, AT_SYMLINK_NOFOLLOW) == 0) {
        opened = ::openat(parent.get(), name, kFlags);
    }
    return Fd(opened);
}

// Removes files and empty directories and calls `on_full` with the name of each other directory, as
// long as `most` of them are left. Says whether there was anything. What is mounted counts as busy,
// which is an error.
template <typename OnFull>
Result<bool> remove_entries(const Fd& directory, std::size_t& most, OnFull on_full) {
    ::fchmod(directory.get(), 0700);  // its owner may have locked itself out
    const Entries entries = list(directory);
    if (!entries) {
        return fail(system_error("open directory"));
    }
    bool found = false;
    errno = 0;
    while (const dirent* entry = most > 0 ? ::readdir(entries.get()) : nullptr) {
        const char* name = entry->d_name;
        if (std::string_view(name) == "." || std::string_view(name) == "..") {
            continue;
        }
        found = true;
        --most;
        if (::unlinkat(directory.get(), name, 0) != 0 &&
            ::unlinkat(directory.get(), name, AT_REMOVEDIR) != 0 && errno != ENOENT) {
            if (errno != ENOTEMPTY && errno != EEXIST) {
                return fail(system_error("unlink"));
            }
            BJ_TRY_VOID(on_full(name));
        }
        errno = 0;
    }
    if (errno != 0) {
        return fail(system_error("readdir"));
    }
    return found;
}

// To a name that nobody could have put in the way.
Result<void> move_up(const Fd& from, const char* name, const Fd& top) {
    std::uint64_t random = 0;
    if (::getrandom(&random, sizeof(random), 0) != sizeof(random)) {
        return fail(system_error("getrandom"));
    }
    // Moving a directory writes into it. If that is not allowed, the rename says so.
    [[maybe_unused]] const int opened = ::fchmodat(from.get(), name, 0700, AT_SYMLINK_NOFOLLOW);
    const std::string unique = ".belljar-" + std::to_string(random);
    if (::renameat(from.get(), name, top.get(), unique.c_str()) != 0) {
        return fail(system_error("rename"));
    }
    return {};
}

Result<void> remove_directory(const Fd& top, const char* name, std::size_t& most) {
    const Fd inner = open_below(top, name);
    if (!inner.valid()) {
        return fail(system_error("open directory"));
    }
    BJ_TRY_VOID(remove_entries(inner, most,
                               [&](const char* deeper) { return move_up(inner, deeper, top); }));
    // If something is left in it, the next pass finds the directory again.
    if (::unlinkat(top.get(), name, AT_REMOVEDIR) != 0 && errno != ENOTEMPTY && errno != EEXIST) {
        return fail(system_error("rmdir"));
    }
    return {};
}

}  // namespace

// Without recursion, and with a few descriptors however deep the tree is: a directory inside a
// directory is moved up to the top, until there is none.
Result<bool> remove_some(const Fd& directory, std::size_t& most) {
    bool left = true;
    while (left && most > 0) {
        BJ_TRY(left, remove_entries(directory, most, [&](const char* name) {
                   return remove_directory(directory, name, most);
               }));
    }
    return !left;
}

Result<void> remove_content(const Fd& directory) {
    std::size_t most = std::numeric_limits<std::size_t>::max();
    BJ_TRY_VOID(remove_some(directory, most));
    return {};
}

Result<void> empty_scratch(const Fd& scratch) {
    for (const char* name : {kWorkspaceName, kTmpName}) {
        const Fd directory = open_below(scratch, name);
        if (!directory.valid()) {
            return fail(system_error("open directory"));
        }
        BJ_TRY_VOID(remove_content(directory));
    }
    return {};
}

}  // namespace belljar::jar
