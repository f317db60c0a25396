#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "execution/conversation.h"

namespace belljar::storage {

// Addresses of files that need no token: whoever knows one may read that file until it ends.
//   {base}/files/{conversation}/{path}?by=...&exp=...&once=...&sig=...
// `sig` is HMAC-SHA256 in hexadecimal over the method, the owner, the conversation, the path, the
// end and the mark, each with its length before it. `by` is the owner, sealed: an address tells
// nobody its name; without it the owner is the principal without a name. Without `exp` the address
// is good for ever. `once` marks one that may be used a single time; whoever verifies has to see to
// that. Each purpose has a key of its own, made out of the secret. Any thread, once set up.
class UrlSigner {
   public:
    enum class Legacy { Refused, Accepted };
    enum class Use { Repeated, Single };

    struct Options {
        std::string secret{};
        Duration lifetime = std::chrono::hours(1);      // unless somebody chooses; zero: for ever
        Duration maximum = std::chrono::hours(7 * 24);  // zero: any, also for ever
        // Whether an address with neither owner nor end is taken that was signed with the secret
        // itself over "conversation/path": HMAC-SHA256 in hexadecimal.
        Legacy legacy = Legacy::Refused;
    };
    struct Order {
        execution::FileName file{};
        std::optional<Duration> lifetime{};  // zero: for ever; never more than the maximum
        Use use = Use::Repeated;
    };
    struct Issued {
        std::string url{};
        std::optional<execution::WallTime> expires{};  // nothing: never
    };
    // What a request for a file says about itself.
    struct Shown {
        std::string_view method{};  // HEAD counts as GET
        std::string_view conversation_id{};
        std::string_view path{};
        std::string_view query{};
    };
    struct Grant {
        execution::FileName file{};
        std::optional<execution::WallTime> expires{};
        std::string once{};  // empty: may be used again
    };

    explicit UrlSigner(Options options);

    // Under which address clients reach this server, without a slash at the end. Before the first
    // call of issue().
    void set_base(std::string base) { base_ = std::move(base); }

    [[nodiscard]] Issued issue(const Order& order, execution::WallTime now) const;
    // Nothing if it is not signed so, or is over by the clock on the wall: no tolerance.
    [[nodiscard]] std::optional<Grant> verify(const Shown& shown, execution::WallTime now) const;

   private:
    [[nodiscard]] std::string signature_of(std::string_view method, const Grant& grant) const;
    [[nodiscard]] Duration allowed(std::optional<Duration> wanted) const;

    Options options_;
    std::string base_;
    std::string signing_key_;
    std::string sealing_key_;
};

// The secret in `directory`/file_secret, readable by its owner only; made at the first call.
[[nodiscard]] Result<std::string> load_or_create_file_secret(const Fd& directory);

}  // namespace belljar::storage
