#include "engine/policy_place.h"

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
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "base/fd.h"

namespace belljar::engine {
namespace {

using policy::PolicyText;

constexpr std::size_t kMostPolicyFiles = 256;
// One change seldom comes alone.
constexpr Duration kPolicySettle = std::chrono::milliseconds(100);
// What the kernel cannot watch is looked at.
constexpr Duration kPolicyLookAgain = std::chrono::seconds(2);
constexpr std::uint32_t kPolicyEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                                        IN_CREATE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF |
                                        IN_ONLYDIR;

std::unexpected<Error> refuse(const std::string& name, std::string_view reason) {
    return fail(ErrorCode::InvalidArgument, fmt::format("{}: {}", name, reason));
}

// Whoever could write it decides what is allowed.
Result<void> check_owner(const std::string& name, const struct stat& status) {
    if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
        return refuse(name, "it belongs neither to root nor to the server's user");
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return refuse(name, "others than its owner may write it: chmod go-w");
    }
    return {};
}

Result<PolicyText> read_file(const std::string& name, const Fd& file) {
    struct stat status{};
    if (!file.valid() || ::fstat(file.get(), &status) != 0) {
        return refuse(name, system_error("it cannot be opened").describe());
    }
    if (!S_ISREG(status.st_mode)) {
        return refuse(name, "it is not a file");
    }
    BJ_TRY_VOID(check_owner(name, status));
    Result<std::string> text = read_all(file, policy::kLargestPolicyFile);
    if (!text) {
        return refuse(name, fmt::format("it cannot be read or is larger than {}",
                                        format_bytes(policy::kLargestPolicyFile)));
    }
    return PolicyText{.name = name, .text = std::move(*text)};
}

std::set<std::string> policy_files_in(const Fd& directory) {
    std::set<std::string> names;
    const int copy = ::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> list(copy < 0 ? nullptr : ::fdopendir(copy),
                                                   ::closedir);
    while (const dirent* entry = list == nullptr ? nullptr : ::readdir(list.get())) {
        const std::string_view name = entry->d_name;
        if (name.ends_with(".toml") && !name.starts_with('.')) {
            names.emplace(name);
        }
    }
    return names;
}

Result<std::vector<PolicyText>> read_directory(const std::string& path, const Fd& directory) {
    std::vector<PolicyText> files;
    const std::set<std::string> names = policy_files_in(directory);
    if (names.size() > kMostPolicyFiles) {
        return refuse(path, fmt::format("there are more than {} files", kMostPolicyFiles));
    }
    for (const std::string& name : names) {
        // Links are followed: who made them could as well have written the file.
        const Fd file(::openat(directory.get(), name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        BJ_TRY(PolicyText text, read_file(name, file));
        files.push_back(std::move(text));
    }
    return files;
}

// The directories in which a change can be seen: that of the name, and that of what it leads to.
std::set<std::string> places_of(const std::string& path) {
    std::set<std::string> places;
    std::error_code error;
    std::filesystem::path given(path);
    if (!given.has_filename()) {
        given = given.parent_path();
    }
    const std::filesystem::path parent = given.parent_path();
    places.insert(parent.empty() ? "." : parent.string());
    const std::filesystem::path real = std::filesystem::canonical(given, error);
    if (!error) {
        const bool is_directory = std::filesystem::is_directory(real, error);
        places.insert(is_directory ? real.string() : real.parent_path().string());
    }
    return places;
}

}  // namespace

Result<std::vector<PolicyText>> read_policy_files(const std::string& path) {
    if (path.empty()) {
        return std::vector<PolicyText>();
    }
    Fd place(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat status{};
    if (!place.valid() || ::fstat(place.get(), &status) != 0) {
        return refuse(path, errno == ENOENT ? "there is no such file or directory"
                                            : system_error("it cannot be opened").describe());
    }
    if (S_ISDIR(status.st_mode)) {
        BJ_TRY_VOID(check_owner(path, status));
        return read_directory(path, place);
    }
    BJ_TRY(PolicyText text, read_file(std::filesystem::path(path).filename().string(), place));
    return std::vector<PolicyText>{std::move(text)};
}

PolicyPlace::PolicyPlace(const asio::any_io_executor& executor, std::string path,
                         policy::Rulebook::Grounds grounds)
    : path_(std::move(path)), grounds_(std::move(grounds)), events_(executor), timer_(executor) {}

Result<PolicyPlace::Rules> PolicyPlace::read() {
    BJ_TRY(const std::vector<PolicyText> files, read_policy_files(path_));
    BJ_TRY(Rules rules, policy::Rulebook::create(grounds_, files));
    version_ = rules->version();
    return rules;
}

void PolicyPlace::look(const Listener& listener) {
    const std::string before = version_;
    Result<Rules> rules = read();
    if (!rules) {
        if (refused_ != rules.error().message) {
            refused_ = rules.error().message;
            listener.refused(refused_);
        }
        return;
    }
    // Also if they are as before: what was wrong has been corrected.
    if (!std::exchange(refused_, "").empty() || version_ != before) {
        listener.changed(std::move(*rules));
    }
}

bool PolicyPlace::begin_watch() {
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
    std::vector<int> watched;
    for (const std::string& place : places_of(path_)) {
        const int number =
            ::inotify_add_watch(events_.native_handle(), place.c_str(), kPolicyEvents);
        if (number >= 0) {
            watched.push_back(number);
        }
    }
    for (const int number : watched_) {
        if (std::ranges::find(watched, number) == watched.end()) {
            ::inotify_rm_watch(events_.native_handle(), number);
        }
    }
    watched_ = std::move(watched);
    return !watched_.empty();
}

void PolicyPlace::drain_events() {
    std::array<char, 4096> buffer{};
    while (events_.is_open() && ::read(events_.native_handle(), buffer.data(), buffer.size()) > 0) {
    }
}

Task<void> PolicyPlace::rest(Duration duration) {
    boost::system::error_code ignored;
    timer_.expires_after(duration);
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

Task<void> PolicyPlace::await_change() {
    if (watched_.empty()) {
        co_await rest(kPolicyLookAgain);
        co_return;
    }
    boost::system::error_code ignored;
    co_await events_.async_wait(asio::posix::stream_descriptor::wait_read,
                                asio::redirect_error(asio::use_awaitable, ignored));
    if (!stopping_) {
        co_await rest(kPolicySettle);
    }
}

Task<void> PolicyPlace::watch(Listener listener) {
    while (!stopping_ && !path_.empty()) {
        // Before reading, so that no change falls in between.
        drain_events();
        begin_watch();
        look(listener);
        co_await await_change();
    }
}

void PolicyPlace::stop() {
    stopping_ = true;
    boost::system::error_code ignored;
    timer_.cancel(ignored);
    if (events_.is_open()) {
        events_.cancel(ignored);
    }
}

}  // namespace belljar::engine
