#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/head.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "crypto/signing_key.h"

// The files of a trail, all in one directory:
//
//   trail-000001.jsonl ...   the records; only the last one grows
//   head                     where they end
//   key.pem, public-key.pem  what signs them, and what anybody may verify them with
//   lock, upkeep.lock        who writes, and who removes or rewrites files that do not grow
//   erasure                  one that has begun
namespace belljar::audit {

inline constexpr const char* kHeadFile = "head";
inline constexpr const char* kKeyFile = "key.pem";
inline constexpr const char* kPublicKeyFile = "public-key.pem";
inline constexpr const char* kErasureFile = "erasure";
inline constexpr mode_t kPrivate = 0600;  // of all but the public key

[[nodiscard]] std::string trail_name(std::uint64_t number);
[[nodiscard]] std::optional<std::uint64_t> trail_number(std::string_view name);
// Numbers of the files that are there, in order.
[[nodiscard]] Result<std::vector<std::uint64_t>> list_trail(const Fd& directory);

// Opens for reading, without following links.
[[nodiscard]] Result<Fd> open_trail(const Fd& directory, std::uint64_t number);

// NotFound if there is none.
[[nodiscard]] Result<std::string> read_small(const Fd& directory, const char* name);
// Under another name first, so that nobody sees half of it; on the disk when this returns.
[[nodiscard]] Result<void> replace_file(const Fd& directory, const std::string& name,
                                        std::string_view text, mode_t mode);
// Root makes files for the account that has the directory.
[[nodiscard]] Result<void> give_to_owner(const Fd& directory, const Fd& file);

// What a trail is written with. The mac's key comes out of the private half.
struct Keys {
    crypto::SigningKey signing;
    std::string mac_key;

    [[nodiscard]] std::string id() const;
};

// Makes them at the first call, readable by their owner alone.
[[nodiscard]] Result<Keys> load_or_make_keys(const Fd& directory);
[[nodiscard]] Keys keys_of(crypto::SigningKey key);
// Shown with signatures: which key it was.
[[nodiscard]] std::string key_id(const crypto::SigningKey& key);

// What a signature record signs.
[[nodiscard]] std::string signed_text(const ChainEnd& end);

// An exclusive lock on a file of the directory, from lock() to unlock(), between processes.
class FileLock {
   public:
    static Result<FileLock> open(const Fd& directory, const char* name);

    // Overloaded if another process still has it after `patience`.
    [[nodiscard]] Result<void> lock(Duration patience) const;
    void unlock() const;

   private:
    explicit FileLock(Fd file) : file_(std::move(file)) {}

    Fd file_;
};

}  // namespace belljar::audit
