#include "audit/trail_place.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <thread>

#include "base/id.h"
#include "crypto/digest.h"

namespace belljar::audit {
namespace {

constexpr std::string_view kBefore = "trail-";
constexpr std::string_view kAfter = ".jsonl";
constexpr std::size_t kDigitsOfNumber = 6;
constexpr mode_t kShown = S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
constexpr Bytes kSmall = mebibytes(4);

struct CloseDirectory {
    void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

std::string trail_name(std::uint64_t number) {
    return fmt::format("{}{:06}{}", kBefore, number, kAfter);
}

std::optional<std::uint64_t> trail_number(std::string_view name) {
    if (!name.starts_with(kBefore) || !name.ends_with(kAfter) ||
        name.size() < kBefore.size() + kDigitsOfNumber + kAfter.size()) {
        return std::nullopt;
    }
    std::uint64_t number = 0;
    const char* const end = name.data() + name.size() - kAfter.size();
    const auto [rest, error] = std::from_chars(name.data() + kBefore.size(), end, number);
    if (error != std::errc{} || rest != end || number == 0 || trail_name(number) != name) {
        return std::nullopt;
    }
    return number;
}

Result<std::vector<std::uint64_t>> list_trail(const Fd& directory) {
    Fd copy(::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, CloseDirectory> open(copy.valid() ? ::fdopendir(copy.get())
                                                                 : nullptr);
    if (!open) {
        return fail(system_error("list the directory of the audit trail"));
    }
    static_cast<void>(copy.release());
    std::vector<std::uint64_t> numbers;
    while (const dirent* entry = ::readdir(open.get())) {
        if (const auto number = trail_number(entry->d_name)) {
            numbers.push_back(*number);
        }
    }
    std::ranges::sort(numbers);
    return numbers;
}

Result<Fd> open_trail(const Fd& directory, std::uint64_t number) {
    Fd file(
        ::openat(directory.get(), trail_name(number).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file.valid()) {
        return fail(system_error("open a file of the audit trail"));
    }
    return file;
}

Result<std::string> read_small(const Fd& directory, const char* name) {
    const Fd file(::openat(directory.get(), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file.valid()) {
        return errno == ENOENT
                   ? fail(ErrorCode::NotFound, fmt::format("the audit trail has no {}", name))
                   : fail(system_error(fmt::format("open {} of the audit trail", name)));
    }
    return read_all(file, kSmall);
}

Result<void> give_to_owner(const Fd& directory, const Fd& file) {
    struct stat status{};
    if (::geteuid() == 0 && (::fstat(directory.get(), &status) != 0 ||
                             ::fchown(file.get(), status.st_uid, status.st_gid) != 0)) {
        return fail(system_error("give a file of the audit trail to its owner"));
    }
    return {};
}

Result<void> replace_file(const Fd& directory, const std::string& name, std::string_view text,
                          mode_t mode) {
    const std::string fresh = name + ".new";
    ::unlinkat(directory.get(), fresh.c_str(), 0);
    const Fd file(::openat(directory.get(), fresh.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (!file.valid()) {
        return fail(system_error(fmt::format("make {} of the audit trail", name)));
    }
    BJ_TRY_VOID(give_to_owner(directory, file));
    BJ_TRY_VOID(write_all(file, text));
    if (::fchmod(file.get(), mode) != 0 || ::fsync(file.get()) != 0 ||
        ::renameat(directory.get(), fresh.c_str(), directory.get(), name.c_str()) != 0 ||
        ::fsync(directory.get()) != 0) {
        return fail(system_error(fmt::format("replace {} of the audit trail", name)));
    }
    return {};
}

std::string key_id(const crypto::SigningKey& key) {
    constexpr std::size_t kIdDigits = 16;
    return crypto::sha256_hex(key.public_bytes()).substr(0, kIdDigits);
}

std::string Keys::id() const { return key_id(signing); }

Keys keys_of(crypto::SigningKey key) {
    std::string mac_key = key.derive("belljar audit mac");
    return {.signing = std::move(key), .mac_key = std::move(mac_key)};
}

Result<Keys> load_or_make_keys(const Fd& directory) {
    Result<std::string> pem = read_small(directory, kKeyFile);
    if (!pem && pem.error().code == ErrorCode::NotFound) {
        const crypto::SigningKey key = crypto::SigningKey::generate();
        BJ_TRY_VOID(replace_file(directory, kKeyFile, key.private_pem(), kPrivate));
        pem = key.private_pem();
    }
    BJ_TRY_VOID(pem);
    Result<crypto::SigningKey> key = crypto::SigningKey::from_private_pem(*pem);
    if (!key) {
        return fail(ErrorCode::Unavailable, "the key of the audit trail is damaged");
    }
    Keys keys = keys_of(std::move(*key));
    const Result<std::string> shown = read_small(directory, kPublicKeyFile);
    if (!shown && shown.error().code == ErrorCode::NotFound) {
        BJ_TRY_VOID(replace_file(directory, kPublicKeyFile, keys.signing.public_pem(), kShown));
    }
    return keys;
}

std::string signed_text(const ChainEnd& end) {
    return fmt::format("belljar audit signature\n{}\n{}\n", end.seq, end.hash);
}

Result<FileLock> FileLock::open(const Fd& directory, const char* name) {
    Fd file(::openat(directory.get(), name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kPrivate));
    if (!file.valid()) {
        return fail(system_error("open the lock of the audit trail"));
    }
    BJ_TRY_VOID(give_to_owner(directory, file));
    return FileLock(std::move(file));
}

Result<void> FileLock::lock(Duration patience) const {
    constexpr auto kPause = std::chrono::microseconds(50);
    const TimePoint deadline = Clock::now() + patience;
    while (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return fail(system_error("lock the audit trail"));
        }
        if (Clock::now() >= deadline) {
            return fail(ErrorCode::Overloaded, "another process keeps the audit trail locked");
        }
        std::this_thread::sleep_for(kPause);
    }
    return {};
}

void FileLock::unlock() const { ::flock(file_.get(), LOCK_UN); }

}  // namespace belljar::audit
