#include "base/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/utf8.h"

namespace belljar {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY;
constexpr mode_t kDirectoryMode = 0755;

bool is_plain_name(std::string_view name) {
    constexpr std::size_t kLongestName = 255;
    return !name.empty() && name != "." && name != ".." && name.size() <= kLongestName;
}

}  // namespace

bool is_plain_path(std::string_view path) {
    const auto is_control = [](unsigned char letter) { return letter < 0x20 || letter == 0x7f; };
    if (path.size() > kLongestPath || std::ranges::any_of(path, is_control) ||
        !is_valid_utf8(path)) {
        return false;
    }
    std::size_t names = 0;
    std::size_t begin = 0;
    while (begin <= path.size()) {
        const std::size_t end = std::min(path.find('/', begin), path.size());
        if (!is_plain_name(path.substr(begin, end - begin)) || ++names > kDeepestPath) {
            return false;
        }
        begin = end + 1;
    }
    return true;
}

Result<Fd> open_beneath(const Fd& root, const std::string& path, int flags, mode_t mode) {
    open_how how{};
    const int never_wait = (flags & O_PATH) != 0 ? 0 : O_NONBLOCK | O_NOCTTY;
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW | never_wait);
    how.mode = mode;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    Fd opened(
        static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof(how))));
    if (!opened.valid()) {
        return fail(system_error("openat2"));
    }
    return opened;
}

Result<Place> find_place(const Fd& root, std::string_view path, Parents parents) {
    BJ_TRY(Fd directory, open_beneath(root, ".", kDirectory));
    while (true) {
        const std::size_t end = path.find('/');
        std::string name(path.substr(0, end));
        if (end == std::string_view::npos) {
            return Place{.directory = std::move(directory), .name = std::move(name)};
        }
        if (parents == Parents::Made &&
            ::mkdirat(directory.get(), name.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
            return fail(system_error("mkdirat"));
        }
        BJ_TRY(directory, open_beneath(directory, name, kDirectory));
        path.remove_prefix(end + 1);
    }
}

}  // namespace belljar
