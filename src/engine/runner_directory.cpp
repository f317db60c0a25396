#include "engine/runner_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <memory>
#include <set>
#include <utility>

namespace belljar::engine {
namespace {

constexpr std::size_t kMostFiles = 256;
constexpr Bytes kLargestManifest = kibibytes(64);
constexpr Bytes kLargestProgram = mebibytes(1);
// One change seldom comes alone.
constexpr Duration kSettle = std::chrono::milliseconds(100);
// Without a directory there is nothing that the kernel could watch.
constexpr Duration kLookAgain = std::chrono::seconds(2);
constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                                  IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

// Whoever could write it decides what runs.
Result<void> check_owner(const Fd& file) {
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) {
        return fail(system_error("fstat"));
    }
    if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
        return fail(ErrorCode::Denied, "it belongs neither to root nor to the server's user");
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return fail(ErrorCode::Denied, "others than its owner may write it: chmod go-w");
    }
    return {};
}

Result<std::string> read_checked(const Fd& directory, const std::string& name, Bytes limit) {
    constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    const Fd file(::openat(directory.get(), name.c_str(), kFlags));
    struct stat status{};
    if (!file.valid() || ::fstat(file.get(), &status) != 0) {
        return fail(ErrorCode::NotFound, system_error("it cannot be opened").describe());
    }
    if (!S_ISREG(status.st_mode)) {
        return fail(ErrorCode::Denied, "it is not a file");
    }
    BJ_TRY_VOID(check_owner(file));
    Result<std::string> text = read_all(file, limit);
    if (!text) {
        return fail(ErrorCode::TooLarge,
                    fmt::format("it cannot be read or has more than {}", format_bytes(limit)));
    }
    return text;
}

// The manifests in it, sorted.
std::set<std::string> names_in(const Fd& directory) {
    std::set<std::string> names;
    const int copy = ::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(copy), ::closedir);
    while (const dirent* entry = list == nullptr ? nullptr : ::readdir(list.get())) {
        const std::string_view name = entry->d_name;
        if (name.ends_with(".toml") && !name.starts_with('.')) {
            names.emplace(name);
        }
    }
    return names;
}

}  // namespace

RunnerDirectory::RunnerDirectory(const asio::any_io_executor& executor, std::string path,
                                 runner::Runners shipped, const Log& log)
    : path_(std::move(path)),
      shipped_(std::move(shipped)),
      log_(log),
      events_(executor),
      timer_(executor) {}

runner::Runners RunnerDirectory::read() {
    const Result<Fd> directory = open_directory();
    const std::string reason = directory ? "" : directory.error().message;
    if (!reason.empty() && reason != refused_) {
        log_.error("the directory of runners is not used", {{"path", path_}, {"reason", reason}});
    }
    refused_ = reason;
    const std::set<std::string> names =
        directory && directory->valid() ? names_in(*directory) : std::set<std::string>();
    std::erase_if(files_, [&](const auto& file) { return !names.contains(file.first); });
    runner::Runners runners = shipped_;
    std::size_t count = 0;
    for (const std::string& name : names) {
        if (++count > kMostFiles) {
            refuse(name, fmt::format("there are more than {} of them", kMostFiles));
            continue;
        }
        read_file(*directory, name);
        add_to(runners, name);
    }
    return runners;
}

// Invalid if there is none.
Result<Fd> RunnerDirectory::open_directory() const {
    if (path_.empty()) {
        return Fd();
    }
    Fd directory(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.valid() && errno == ENOENT) {
        return Fd();
    }
    if (!directory.valid()) {
        return fail(ErrorCode::Denied, system_error("it cannot be opened").describe());
    }
    BJ_TRY_VOID(check_owner(directory));
    return directory;
}

void RunnerDirectory::read_file(const Fd& directory, const std::string& name) {
    Entry& entry = files_[name];
    const Result<std::string> text = read_checked(directory, name, kLargestManifest);
    if (!text) {
        entry.read = nullptr;
        entry.used = nullptr;
        refuse(name, text.error().message);
        return;
    }
    // Its programs stand beside it or are part of this binary.
    const auto program = [&](const std::string& wanted) {
        return wanted.contains('/') ? runner::embedded_guest_program(wanted)
                                    : read_checked(directory, wanted, kLargestProgram);
    };
    Result<runner::Manifest> manifest = runner::parse_manifest(name, *text, program);
    if (!manifest) {
        entry.read = entry.used;
        refuse(name, manifest.error().message);
        return;
    }
    if (entry.used == nullptr || *entry.used != *manifest) {
        entry.read = std::make_shared<const runner::Manifest>(std::move(*manifest));
    } else {
        entry.read = entry.used;
    }
    entry.refused.clear();
}

void RunnerDirectory::add_to(runner::Runners& runners, const std::string& name) {
    Entry& entry = files_[name];
    if (entry.read == nullptr) {
        return;
    }
    Result<void> added = runners.put(entry.read);
    if (!added) {
        refuse(name, fmt::format("{}: {}", name, added.error().message));
        if (entry.used == nullptr || !runners.put(entry.used)) {
            entry.used = nullptr;
        }
        return;
    }
    if (entry.used != entry.read) {
        log_.info("a runner was read", {{"file", name}, {"language", entry.read->language}});
    }
    entry.used = entry.read;
}

void RunnerDirectory::refuse(const std::string& name, const std::string& reason) {
    Entry& entry = files_[name];
    if (entry.refused != reason) {
        log_.error(entry.used == nullptr ? "a runner was refused"
                                         : "a runner was refused; what it said before stays",
                   {{"file", name}, {"reason", reason}});
    }
    entry.refused = reason;
}

bool RunnerDirectory::begin_watch() {
    if (!events_.is_open()) {
        Fd events(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
        boost::system::error_code error;
        if (events.valid()) {
            events_.assign(events.get(), error);
        }
        if (!events.valid() || error) {
            return false;
        }
        [[maybe_unused]] const int owned = events.release();
    }
    const int watched = ::inotify_add_watch(events_.native_handle(), path_.c_str(), kEvents);
    if (watched >= 0 && watched != watched_ && watched_ >= 0) {
        ::inotify_rm_watch(events_.native_handle(), watched_);
    }
    watched_ = watched;
    return watched >= 0;
}

void RunnerDirectory::drain_events() {
    std::array<char, 4096> buffer{};
    while (events_.is_open() && ::read(events_.native_handle(), buffer.data(), buffer.size()) > 0) {
    }
}

Task<void> RunnerDirectory::rest(Duration duration) {
    boost::system::error_code ignored;
    timer_.expires_after(duration);
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

Task<void> RunnerDirectory::await_change() {
    if (watched_ < 0) {
        co_await rest(kLookAgain);
        co_return;
    }
    boost::system::error_code ignored;
    co_await events_.async_wait(asio::posix::stream_descriptor::wait_read,
                                asio::redirect_error(asio::use_awaitable, ignored));
    if (!stopping_) {
        co_await rest(kSettle);
    }
}

Task<void> RunnerDirectory::watch(std::function<void(runner::Runners)> changed) {
    runner::Runners known = shipped_;
    while (!stopping_ && !path_.empty()) {
        // Before reading, so that no change falls in between.
        drain_events();
        begin_watch();
        runner::Runners now = read();
        if (now.all() != known.all()) {
            known = now;
            changed(std::move(now));
        }
        co_await await_change();
    }
}

void RunnerDirectory::stop() {
    stopping_ = true;
    boost::system::error_code ignored;
    timer_.cancel(ignored);
    if (events_.is_open()) {
        events_.cancel(ignored);
    }
}

}  // namespace belljar::engine
