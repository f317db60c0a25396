#include "jar/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

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
    if (opened < 0 && errno == EACCES && ::fchmodat(parent.get(), name, 0700, 0) == 0) {
        opened = ::openat(parent.get(), name, kFlags);
    }
    return Fd(opened);
}

// Removes what is not a directory; returns the name of one that must be emptied first, or nothing.
Result<std::string> remove_files(const Fd& directory) {
    ::fchmod(directory.get(), 0700);  // its owner may have locked itself out
    const Entries entries = list(directory);
    if (!entries) {
        return fail(system_error("open directory"));
    }
    while (const dirent* entry = ::readdir(entries.get())) {
        const std::string name = entry->d_name;
        if (name == "." || name == "..") {
            continue;
        }
        if (::unlinkat(directory.get(), name.c_str(), 0) == 0 ||
            ::unlinkat(directory.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) {
            continue;
        }
        if (errno != ENOTEMPTY && errno != EEXIST) {
            return fail(system_error("unlink"));
        }
        return name;
    }
    return std::string();
}

}  // namespace

// Without recursion, and with two descriptors however deep the tree is: a directory inside a
// directory is moved up to the top, until there is none.
Result<void> remove_content(const Fd& directory) {
    while (true) {
        BJ_TRY(const std::string full, remove_files(directory));
        if (full.empty()) {
            return {};
        }
        const Fd inner = open_below(directory, full.c_str());
        if (!inner.valid()) {
            return fail(system_error("open directory"));
        }
        std::uint64_t moved = 0;
        while (true) {
            BJ_TRY(const std::string deeper, remove_files(inner));
            if (deeper.empty()) {
                break;
            }
            const std::string name = ".belljar-" + std::to_string(moved++);
            // Moving a directory writes into it. If that is not allowed, the rename says so.
            [[maybe_unused]] const int opened =
                ::fchmodat(inner.get(), deeper.c_str(), 0700, AT_SYMLINK_NOFOLLOW);
            if (::renameat(inner.get(), deeper.c_str(), directory.get(), name.c_str()) != 0 &&
                errno != ENOTEMPTY && errno != EEXIST) {
                return fail(system_error("rename"));
            }
        }
    }
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
