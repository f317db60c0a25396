#include "access/token_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/id.h"

namespace belljar::access {
namespace {

constexpr const char* kTokenFile = "token";
constexpr const char* kNewTokenFile = "token.new";
constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kShortestToken = 16;

Result<std::string> read_token(const Fd& file) {
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) {
        return fail(system_error("fstat token"));
    }
    if (!S_ISREG(status.st_mode) || (status.st_mode & 077U) != 0) {
        return fail(ErrorCode::Denied,
                    "the token file can be read by others; make it private (chmod 600) or delete "
                    "it to get a new token");
    }
    BJ_TRY(std::string token, read_all(file, kibibytes(4)));
    token.erase(std::find(token.begin(), token.end(), '\n'), token.end());
    if (token.size() < kShortestToken) {
        return fail(ErrorCode::Denied,
                    "the token file holds no usable token; delete it to get a new one");
    }
    return token;
}

// Complete before it has its name: a crash leaves no half-written token behind.
Result<std::string> create_token(const Fd& directory) {
    std::string token = "bj_" + random_hex(kTokenBytes);
    ::unlinkat(directory.get(), kNewTokenFile, 0);
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    const Fd file(::openat(directory.get(), kNewTokenFile, kFlags, 0600));
    if (!file.valid()) {
        return fail(system_error("create token"));
    }
    BJ_TRY_VOID(write_all(file, token + "\n"));
    if (::fsync(file.get()) != 0 ||
        ::renameat(directory.get(), kNewTokenFile, directory.get(), kTokenFile) != 0) {
        return fail(system_error("store token"));
    }
    return token;
}

}  // namespace

Result<StoredToken> load_or_create_token(const Fd& directory) {
    const Fd file(::openat(directory.get(), kTokenFile, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (file.valid()) {
        BJ_TRY(std::string token, read_token(file));
        return StoredToken{.token = std::move(token), .created = false};
    }
    if (errno != ENOENT) {
        return fail(system_error("open token"));
    }
    BJ_TRY(std::string token, create_token(directory));
    return StoredToken{.token = std::move(token), .created = true};
}

}  // namespace belljar::access
