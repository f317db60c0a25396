#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/rights.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/result.h"
#include "execution/principal_limits.h"

namespace belljar::access {

using WallTime = std::chrono::sys_seconds;

// One token as it is kept: only its hash. Tokens are 256 random bits, or at least 32 characters, so
// that a plain hash is enough against whoever reads the file.
struct TokenRecord {
    std::string name{};    // of the principal
    std::string sha256{};  // in lower-case hexadecimal
    std::vector<std::string> roles{};
    WallTime created{};
    std::optional<WallTime> expires{};  // nothing: never
    execution::PrincipalLimits limits{};
};

struct NewToken {
    std::string name{};
    std::vector<std::string> roles{};
    std::optional<WallTime> expires{};
    std::string chosen{};  // empty: a random one is made
    execution::PrincipalLimits limits{};
};

// What is to be another from now on; the rest stays.
struct TokenChange {
    std::optional<std::vector<std::string>> roles{};
    std::optional<std::optional<WallTime>> expires{};
    std::optional<execution::PrincipalLimits> limits{};  // all of them
};

// The folder of the tokens below the data directory, made if it is not there. A folder of its own,
// because the server's account owns it whoever owns the rest.
[[nodiscard]] Result<Fd> open_token_folder(const Fd& data_directory);
// Gives the folder and what is in it to the account that the server runs as.
[[nodiscard]] Result<void> give_token_folder(const Fd& folder, uid_t user, gid_t group);

// Each reads or replaces `folder`/tokens.json as a whole: whoever reads meanwhile sees the old one
// or the new one. Changes wait for each other, up to a few seconds.
[[nodiscard]] Result<std::vector<TokenRecord>> read_tokens(const Fd& folder);
// The token, which nobody can find out afterwards. Conflict if the name is taken.
[[nodiscard]] Result<std::string> add_token(const Fd& folder, const NewToken& wanted);
[[nodiscard]] Result<void> remove_token(const Fd& folder, std::string_view name);
// NotFound if nobody has that name. The record as it is now.
[[nodiscard]] Result<TokenRecord> change_token(const Fd& folder, std::string_view name,
                                               const TokenChange& change);

// "30d", "12h", "90m" or "never".
[[nodiscard]] Result<std::optional<WallTime>> parse_expiry(std::string_view text, WallTime now);

// The tokens for a server, which looks at the file whenever it is asked: a token that was revoked
// is refused from the next request on. A file that cannot be trusted holds no tokens. Borrows the
// folder and the log.
class TokenBook {
   public:
    TokenBook(const Fd& folder, const Log& log) : folder_(folder), log_(log) {}

    // Whose token it is. NotFound if nobody's, Unauthenticated if it has expired.
    [[nodiscard]] Result<Caller> find(std::string_view token, WallTime now);
    // Of whoever has a token of this name; none of its own for everybody else.
    [[nodiscard]] execution::PrincipalLimits limits_of(std::string_view principal);
    // Its roles that are no roles of ours.
    [[nodiscard]] std::vector<std::string> tool_sets_of(std::string_view principal);
    [[nodiscard]] bool empty();

   private:
    // What tells one file from the next under the same name.
    struct Stamp {
        ino_t inode = 0;
        std::int64_t modified = 0;
        std::int64_t changed = 0;
        off_t size = 0;
        bool operator==(const Stamp&) const = default;
    };

    void refresh();
    [[nodiscard]] std::optional<Stamp> stamp() const;

    const Fd& folder_;
    const Log& log_;
    std::optional<Stamp> seen_;
    std::vector<TokenRecord> records_;
};

}  // namespace belljar::access
