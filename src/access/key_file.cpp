#include "access/key_file.h"

#include <sys/stat.h>

#include "base/fd.h"

namespace belljar::access {
namespace {

constexpr auto kBetweenLooks = std::chrono::seconds(1);

}  // namespace

Result<std::unique_ptr<KeyFile>> KeyFile::open(std::string path, const Log& log) {
    std::unique_ptr<KeyFile> file(new KeyFile(std::move(path), log));
    BJ_TRY_VOID(file->read());
    file->looked_ = Clock::now();
    return file;
}

const KeySet& KeyFile::keys() {
    if (Clock::now() - looked_ < kBetweenLooks) {
        return keys_;
    }
    looked_ = Clock::now();
    if (const std::optional<Stamp> now = stamp(); !now) {
        keys_ = KeySet();
        seen_.reset();
    } else if (now != seen_) {
        if (const Result<void> done = read(); !done) {
            log_.error("auth.jwks_path cannot be read; the keys stay as they are",
                       {{"reason", done.error().describe()}});
        }
    }
    return keys_;
}

Result<void> KeyFile::read() {
    seen_ = stamp();
    BJ_TRY(const std::string text, read_file(path_, KeySet::kTextLimit));
    BJ_TRY(keys_, KeySet::parse(text));
    return {};
}

std::optional<KeyFile::Stamp> KeyFile::stamp() const {
    struct stat status{};
    if (::stat(path_.c_str(), &status) != 0) {
        return std::nullopt;
    }
    return Stamp{
        .inode = status.st_ino,
        .changed = std::int64_t{status.st_ctim.tv_sec} * 1'000'000'000 + status.st_ctim.tv_nsec,
        .size = status.st_size};
}

}  // namespace belljar::access
