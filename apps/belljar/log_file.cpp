#include "log_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace belljar::apps {
namespace {

constexpr auto kPause = std::chrono::seconds(1);
constexpr mode_t kMode = S_IRUSR | S_IWUSR | S_IRGRP;

Result<Fd> open_end(const std::string& path) {
    Fd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                   kMode));
    if (!file.valid()) {
        return fail(system_error(fmt::format("log.path: open {}", path)));
    }
    struct stat status{};
    if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return fail(ErrorCode::InvalidArgument, fmt::format("log.path: {} is no file", path));
    }
    return file;
}

}  // namespace

Result<void> LogFile::open() { return change(path_); }

Result<void> LogFile::change(const std::string& path) {
    if (!before_.valid()) {
        before_ = Fd(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    }
    Fd file;
    if (!path.empty()) {
        BJ_TRY(file, open_end(path));
    }
    const Fd& target = path.empty() ? before_ : file;
    // At once: no line is lost between the old file and the new one.
    if (::dup2(target.get(), STDERR_FILENO) < 0) {
        return fail(system_error("dup2 onto standard error"));
    }
    path_ = path;
    return {};
}

Result<void> LogFile::give_to(uid_t user, gid_t group) const {
    if (!path_.empty() && ::fchown(STDERR_FILENO, user, group) != 0) {
        return fail(system_error("fchown the log file"));
    }
    return {};
}

bool LogFile::was_moved() const {
    struct stat named{};
    struct stat held{};
    return !path_.empty() && ::fstat(STDERR_FILENO, &held) == 0 &&
           (::stat(path_.c_str(), &named) != 0 || named.st_ino != held.st_ino ||
            named.st_dev != held.st_dev);
}

Task<void> LogFile::watch(asio::any_io_executor executor, const Log* log) {
    asio::steady_timer pause(executor);
    pause_ = &pause;
    bool told = false;
    while (!stopped_) {
        boost::system::error_code ignored;
        pause.expires_after(kPause);
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
        if (stopped_ || !was_moved()) {
            told = false;
            continue;
        }
        const Result<void> opened = change(path_);
        if (!opened && !std::exchange(told, true)) {
            log->error("the log file was moved and cannot be made anew",
                       {{"reason", opened.error().describe()}});
        }
    }
    pause_ = nullptr;
}

void LogFile::stop() {
    stopped_ = true;
    if (pause_ != nullptr) {
        pause_->cancel();
    }
}

}  // namespace belljar::apps
