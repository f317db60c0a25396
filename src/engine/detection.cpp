#include "engine/detection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace belljar::engine {

Detection::Detection(const std::string& root)
    : root_(::open(root.empty() ? "/" : root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

Result<std::string> Detection::find(const runner::Manifest& manifest) const {
    if (!root_.valid()) {
        return manifest.detect.front();
    }
    for (const std::string& path : manifest.detect) {
        if (is_program(path)) {
            return path;
        }
    }
    return fail(ErrorCode::Unsupported,
                fmt::format("{} is not installed: {} {} exists", manifest.language,
                            manifest.detect.size() == 1 ? "no" : "none of",
                            fmt::join(manifest.detect, ", ")));
}

// Links are followed as they will be inside.
bool Detection::is_program(const std::string& path) const {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    const Fd program(
        static_cast<int>(::syscall(SYS_openat2, root_.get(), path.c_str(), &how, sizeof(how))));
    struct stat status{};
    return program.valid() && ::fstat(program.get(), &status) == 0 && S_ISREG(status.st_mode) &&
           (status.st_mode & S_IXOTH) != 0;
}

}  // namespace belljar::engine
