#include "access/token_book.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "access/token_json.h"
#include "base/clock.h"
#include "base/id.h"
#include "config/duration.h"
#include "crypto/digest.h"

namespace belljar::access {
namespace {

constexpr const char* kFolder = "tokens";
constexpr const char* kFile = "tokens.json";
constexpr const char* kNewFile = "tokens.json.new";
constexpr std::size_t kRandomBytes = 32;
constexpr std::size_t kShortestChosen = 32;
constexpr std::size_t kLongestChosen = 1024;
constexpr std::size_t kMostTokens = 10'000;
constexpr std::size_t kMostRoles = 64;
constexpr Bytes kFileLimit = mebibytes(8);
constexpr auto kLockTime = std::chrono::seconds(5);
constexpr auto kLockPause = std::chrono::milliseconds(20);
constexpr std::chrono::days kLongestLife(36'500);

WallTime wall_clock() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

// Held until the descriptor is closed. Never waits for good: whoever runs as the server's account
// could hold it for ever.
Result<Fd> lock_folder(const Fd& folder) {
    Fd lock(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock.valid()) {
        return fail(system_error("open the folder of the tokens"));
    }
    const TimePoint deadline = Clock::now() + kLockTime;
    while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return fail(system_error("lock the tokens"));
        }
        if (Clock::now() > deadline) {
            return fail(ErrorCode::Conflict,
                        "the tokens are being changed by another program; try again");
        }
        std::this_thread::sleep_for(kLockPause);
    }
    return lock;
}

Result<void> give_to_owner_of(const Fd& folder, const Fd& file) {
    struct stat status{};
    if (::fstat(folder.get(), &status) != 0) {
        return fail(system_error("fstat the folder of the tokens"));
    }
    if (status.st_uid != ::geteuid() && ::fchown(file.get(), status.st_uid, status.st_gid) != 0) {
        return fail(system_error("fchown tokens"));
    }
    return {};
}

// Complete before it has its name: no reader and no crash sees half of it.
Result<void> write_tokens(const Fd& folder, const std::vector<TokenRecord>& records) {
    ::unlinkat(folder.get(), kNewFile, 0);
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    const Fd file(::openat(folder.get(), kNewFile, kFlags, 0600));
    if (!file.valid()) {
        return fail(system_error("create tokens.json"));
    }
    BJ_TRY_VOID(write_all(file, tokens_to_text(records)));
    BJ_TRY_VOID(give_to_owner_of(folder, file));
    if (::fsync(file.get()) != 0 || ::renameat(folder.get(), kNewFile, folder.get(), kFile) != 0 ||
        ::fsync(folder.get()) != 0) {
        return fail(system_error("store tokens.json"));
    }
    return {};
}

Result<std::string> choose_token(const NewToken& wanted) {
    if (wanted.chosen.empty()) {
        return "bj_" + random_hex(kRandomBytes);
    }
    const bool plain = std::ranges::all_of(
        wanted.chosen, [](char letter) { return letter > ' ' && letter < 0x7F; });
    if (wanted.chosen.size() < kShortestChosen || wanted.chosen.size() > kLongestChosen || !plain) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("a token of your own must have {} to {} printable characters and "
                                "no spaces; leave it out to get a random one",
                                kShortestChosen, kLongestChosen));
    }
    return wanted.chosen;
}

Result<void> check_roles(const std::vector<std::string>& roles) {
    if (roles.empty() || roles.size() > kMostRoles ||
        !std::ranges::all_of(roles,
                             [](const std::string& role) { return is_tool_set_name(role); })) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("a role must be one of {}, or the name of a tool set of letters, "
                                "digits, '.', '_' and '-'",
                                role_names()));
    }
    return {};
}

Result<void> check_names(const NewToken& wanted) {
    if (!is_tool_set_name(wanted.name)) {
        return fail(ErrorCode::InvalidArgument,
                    "the name must have 1 to 64 letters, digits, '.', '_' or '-'");
    }
    return check_roles(wanted.roles);
}

std::int64_t nanoseconds(const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Result<Fd> open_token_folder(const Fd& data_directory) {
    if (::mkdirat(data_directory.get(), kFolder, 0700) != 0 && errno != EEXIST) {
        return fail(system_error("make the folder of the tokens"));
    }
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    Fd folder(::openat(data_directory.get(), kFolder, kFlags));
    if (!folder.valid()) {
        return fail(system_error("open the folder of the tokens"));
    }
    struct stat status{};
    if (::fstat(folder.get(), &status) != 0) {
        return fail(system_error("fstat the folder of the tokens"));
    }
    if ((status.st_mode & 022U) != 0) {
        return fail(ErrorCode::Denied,
                    "others can write to the folder of the tokens; make it private (chmod 700)");
    }
    return folder;
}

Result<void> give_token_folder(const Fd& folder, uid_t user, gid_t group) {
    const Fd file(::openat(folder.get(), kFile, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (file.valid() && ::fchown(file.get(), user, group) != 0) {
        return fail(system_error("fchown tokens.json"));
    }
    if (::fchown(folder.get(), user, group) != 0) {
        return fail(system_error("fchown the folder of the tokens"));
    }
    return {};
}

Result<std::vector<TokenRecord>> read_tokens(const Fd& folder) {
    const Fd file(::openat(folder.get(), kFile, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file.valid()) {
        return errno == ENOENT ? Result<std::vector<TokenRecord>>()
                               : fail(system_error("open tokens.json"));
    }
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) {
        return fail(system_error("fstat tokens.json"));
    }
    if (!S_ISREG(status.st_mode) || (status.st_mode & 077U) != 0) {
        return fail(ErrorCode::Denied,
                    "tokens.json can be read by others; make it private (chmod 600)");
    }
    BJ_TRY(const std::string text, read_all(file, kFileLimit));
    return tokens_from_text(text);
}

Result<std::string> add_token(const Fd& folder, const NewToken& wanted) {
    BJ_TRY_VOID(check_names(wanted));
    BJ_TRY(std::string token, choose_token(wanted));
    BJ_TRY(const Fd lock, lock_folder(folder));
    BJ_TRY(std::vector<TokenRecord> records, read_tokens(folder));
    const std::string sha256 = crypto::sha256_hex(token);
    for (const TokenRecord& record : records) {
        if (record.name == wanted.name || record.sha256 == sha256) {
            return fail(ErrorCode::Conflict,
                        record.name == wanted.name
                            ? "there is a token of this name; revoke it first, or choose another"
                            : "this token is in use under another name");
        }
    }
    if (records.size() >= kMostTokens) {
        return fail(ErrorCode::QuotaReached,
                    fmt::format("there are {} tokens, the most there may be", kMostTokens));
    }
    records.push_back({.name = wanted.name,
                       .sha256 = sha256,
                       .roles = wanted.roles,
                       .created = wall_clock(),
                       .expires = wanted.expires,
                       .limits = wanted.limits});
    BJ_TRY_VOID(write_tokens(folder, records));
    return token;
}

Result<void> remove_token(const Fd& folder, std::string_view name) {
    BJ_TRY(const Fd lock, lock_folder(folder));
    BJ_TRY(std::vector<TokenRecord> records, read_tokens(folder));
    const auto removed =
        std::erase_if(records, [name](const TokenRecord& record) { return record.name == name; });
    if (removed == 0) {
        return fail(ErrorCode::NotFound, "there is no token of this name");
    }
    return write_tokens(folder, records);
}

Result<TokenRecord> change_token(const Fd& folder, std::string_view name,
                                 const TokenChange& change) {
    if (change.roles) {
        BJ_TRY_VOID(check_roles(*change.roles));
    }
    BJ_TRY(const Fd lock, lock_folder(folder));
    BJ_TRY(std::vector<TokenRecord> records, read_tokens(folder));
    const auto found = std::ranges::find(records, name, &TokenRecord::name);
    if (found == records.end()) {
        return fail(ErrorCode::NotFound, "there is no token of this name");
    }
    found->roles = change.roles.value_or(found->roles);
    found->expires = change.expires.value_or(found->expires);
    found->limits = change.limits.value_or(found->limits);
    BJ_TRY_VOID(write_tokens(folder, records));
    return *found;
}

Result<std::optional<WallTime>> parse_expiry(std::string_view text, WallTime now) {
    if (text == "never") {
        return std::optional<WallTime>();
    }
    const bool in_days = text.ends_with('d');
    const std::string number(in_days ? text.substr(0, text.size() - 1) : text);
    const bool digits = !number.empty() && number.size() <= 6 &&
                        number.find_first_not_of("0123456789") == std::string::npos;
    std::chrono::seconds life(0);
    if (in_days && digits) {
        life = std::chrono::days(std::stol(number));
    } else if (const Result<Duration> parsed = config::parse_duration(text); parsed && !in_days) {
        life = std::chrono::duration_cast<std::chrono::seconds>(*parsed);
    }
    if (life < std::chrono::seconds(1) || life > kLongestLife) {
        return fail(ErrorCode::InvalidArgument,
                    "an expiry is a time from now such as 30d, 12h or 90m, or \"never\"");
    }
    return std::optional(now + life);
}

Result<Caller> TokenBook::find(std::string_view token, WallTime now) {
    refresh();
    const std::string sha256 = crypto::sha256_hex(token);
    const TokenRecord* found = nullptr;
    // Looks at every one, so that the time tells nothing of where the right one stands.
    for (const TokenRecord& record : records_) {
        if (equal_in_constant_time(record.sha256, sha256)) {
            found = &record;
        }
    }
    if (found == nullptr) {
        return fail(ErrorCode::NotFound, "the token is not valid");
    }
    if (found->expires && *found->expires <= now) {
        return fail(ErrorCode::Unauthenticated, "the token has expired");
    }
    Caller caller{.principal = found->name,
                  .rights = {},
                  .proof = Proof::Token,
                  .expires = found->expires,
                  .limits = found->limits};
    for (const std::string& role : found->roles) {
        add_role(caller, role);
    }
    return caller;
}

execution::PrincipalLimits TokenBook::limits_of(std::string_view principal) {
    refresh();
    const auto found = std::ranges::find(records_, principal, &TokenRecord::name);
    return found == records_.end() ? execution::PrincipalLimits{} : found->limits;
}

std::vector<std::string> TokenBook::tool_sets_of(std::string_view principal) {
    refresh();
    Caller caller;
    const auto found = std::ranges::find(records_, principal, &TokenRecord::name);
    if (found != records_.end()) {
        for (const std::string& role : found->roles) {
            add_role(caller, role);
        }
    }
    return std::move(caller.tool_sets);
}

bool TokenBook::empty() {
    refresh();
    return records_.empty();
}

std::optional<TokenBook::Stamp> TokenBook::stamp() const {
    struct stat status{};
    if (::fstatat(folder_.get(), kFile, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return std::nullopt;
    }
    return Stamp{.inode = status.st_ino,
                 .modified = nanoseconds(status.st_mtim),
                 .changed = nanoseconds(status.st_ctim),
                 .size = status.st_size};
}

void TokenBook::refresh() {
    // Before the file is read: what changes in between is seen the next time.
    const std::optional<Stamp> now = stamp();
    if (!now) {
        records_.clear();
        seen_.reset();
        return;
    }
    if (seen_ == now) {
        return;
    }
    seen_ = now;
    records_.clear();
    Result<std::vector<TokenRecord>> read = read_tokens(folder_);
    if (!read) {
        log_.error("the tokens cannot be read; none of them is accepted",
                   {{"reason", read.error().describe()}});
        return;
    }
    records_ = std::move(*read);
    log_.info("tokens read", {{"tokens", static_cast<std::int64_t>(records_.size())}});
}

}  // namespace belljar::access
