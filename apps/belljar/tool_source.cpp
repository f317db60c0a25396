#include "tool_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace belljar::apps {
namespace {

// Server and programs are other users than who starts them, so root's own right is not enough.
constexpr mode_t kOthersRead = S_IROTH | S_IXOTH;

// The modules that come with Belljar, if they lie beside its program.
std::string find_own_tools() {
    std::error_code error;
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
    const std::string place = (self.parent_path() / "tools").string();
    struct stat status{};
    const bool usable = !error && ::stat(place.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                        (status.st_mode & kOthersRead) == kOthersRead;
    return usable ? place : "";
}

Result<std::string> check_directory(std::string_view key, const std::string& path,
                                    std::string_view readers) {
    const auto refuse = [&](const std::string& reason) {
        return fail(ErrorCode::InvalidArgument, fmt::format("{}: {} {}", key, path, reason));
    };
    std::error_code error;
    const std::string place = std::filesystem::canonical(path, error).string();
    struct stat status{};
    if (error || ::stat(place.c_str(), &status) != 0) {
        return refuse("does not exist or is out of reach");
    }
    if (!S_ISDIR(status.st_mode)) {
        return refuse("is not a directory");
    }
    if (::geteuid() == 0 && (status.st_mode & kOthersRead) != kOthersRead) {
        return refuse(fmt::format("cannot be read by {}: chmod o+rx", readers));
    }
    if (::access(place.c_str(), R_OK | X_OK) != 0) {
        return refuse("is a directory that cannot be read");
    }
    return place;
}

// With its links, which may lead elsewhere tomorrow.
std::string absolute(const std::string& path) {
    std::error_code error;
    const std::filesystem::path place = std::filesystem::absolute(path, error);
    return error ? path : place.lexically_normal().string();
}

}  // namespace

Result<std::optional<approved::Source>> find_tools(const config::ToolSettings& settings) {
    approved::Source source{.unlisted = settings.unlisted};
    if (settings.path.empty()) {
        source.path = find_own_tools();
    } else {
        BJ_TRY_VOID(check_directory("tools.path", settings.path, "the server's user"));
        source.path = absolute(settings.path);
    }
    if (!settings.manifest.empty()) {
        source.manifest = absolute(settings.manifest);
    }
    return source.path.empty() ? std::nullopt : std::optional(std::move(source));
}

Result<Fd> hold_open(approved::Source& source) {
    Fd directory(::open(source.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory.valid()) {
        return fail(system_error("open the tools beside the program"));
    }
    source.path = fmt::format("/proc/self/fd/{}", directory.get());
    return directory;
}

Result<std::string> find_logs(const config::ToolSettings& settings) {
    return settings.logs_path.empty()
               ? std::string()
               : check_directory("tools.logs_path", settings.logs_path, "programs");
}

}  // namespace belljar::apps
